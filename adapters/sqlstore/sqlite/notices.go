package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"
)

// lookEvery is how often the table of notices is looked at.
const lookEvery = 400 * time.Millisecond

// notices reads what triggers of the database wrote into the table notices: SQLite
// has no way to wake another process.
type notices struct{ db *sqlx.DB }

// Listen looks for notices of the topics until ctx ends.
func (n *notices) Listen(ctx context.Context, topics []string, onNotice func(topic, payload string), connected func(bool)) error {
	wanted := make(map[string]bool, len(topics))
	for _, topic := range topics {
		wanted[topic] = true
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	last, up := int64(-1), false
	for {
		found, err := n.after(ctx, last)
		switch {
		case err != nil && up:
			up = false
			connected(false)
		case err != nil:
		case !up, len(found) > 0 && found[0].Seq > last+1: // notices may have been missed
			last, up = newest(found, last), true
			connected(true)
		default:
			for _, notice := range found {
				if wanted[notice.Topic] {
					onNotice(notice.Topic, notice.Payload)
				}
			}
			last = newest(found, last)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

type noticeRow struct {
	Seq     int64  `db:"seq"`
	Topic   string `db:"topic"`
	Payload string `db:"payload"`
}

// after reads the notices after one, the oldest first, and of those before the first
// look only the newest.
func (n *notices) after(ctx context.Context, last int64) (found []noticeRow, err error) {
	query := `SELECT seq, topic, payload FROM notices WHERE seq > $1 ORDER BY seq`
	if last < 0 {
		query = `SELECT seq, topic, payload FROM notices WHERE seq > $1 ORDER BY seq DESC LIMIT 1`
	}
	err = n.db.SelectContext(ctx, &found, query, last)
	if errors.Is(err, context.Canceled) {
		return nil, nil
	}
	return found, err
}

func newest(found []noticeRow, last int64) int64 {
	if len(found) == 0 {
		return max(last, 0)
	}
	return found[len(found)-1].Seq
}
