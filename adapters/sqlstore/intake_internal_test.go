package sqlstore

import "testing"

// One batch is at work until as many wait as fill another one, which then goes beside it
// with all of them, and nobody is left behind.
func TestASecondBatchGoesWhenItIsFull(t *testing.T) {
	q := NewTriggerIntake(&Store{dialect: Dialect{Intakes: 2}})
	if first := q.enter(&entry{}); len(first) != 1 {
		t.Fatalf("alone it goes with %d", len(first))
	}
	waiting := make([]*entry, fullBatch-1)
	for i := range waiting {
		waiting[i] = &entry{verdict: make(chan verdict, 1)}
		if batch := q.enter(waiting[i]); batch != nil {
			t.Fatalf("the one that waits as number %d goes with %d", i+1, len(batch))
		}
	}
	last := &entry{}
	if second := q.enter(last); len(second) != fullBatch || second[0] != last || q.atWork != 2 {
		t.Fatalf("the one that fills a batch goes with %d, and %d are at work", len(second), q.atWork)
	}
	third := make([]*entry, 2*fullBatch)
	for i := range third {
		third[i] = &entry{verdict: make(chan verdict, 1)}
		if batch := q.enter(third[i]); batch != nil {
			t.Fatalf("a third batch goes, with %d", len(batch))
		}
	}
	q.handOver() // of the first
	if turn := <-third[0].verdict; len(turn.batch) != maxBatch || q.atWork != 2 {
		t.Errorf("the next goes with %d, and %d are at work", len(turn.batch), q.atWork)
	}
	q.handOver()
	q.handOver()
	if q.atWork != 0 || len(q.waiting) != 0 {
		t.Errorf("in the end %d are at work and %d wait", q.atWork, len(q.waiting))
	}
}
