package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/sluicehq/sluice/adapters/httpapi/operator"
)

// tokensInterval is how often the file of the operator's tokens is read again.
const tokensInterval = 5 * time.Second

// readOperatorTokens reads the file; none without one.
func (c config) readOperatorTokens() ([]operator.Token, error) {
	if c.OperatorTokens == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.OperatorTokens)
	if err != nil {
		return nil, fmt.Errorf("the name of a file that cannot be read: %s", reason(err))
	}
	return operator.ParseTokens(string(text))
}

// operatorTokens are those that the configuration has; nil where it has none, and no file
// that could bring some.
func (c config) operatorTokens() *operator.Tokens {
	if c.OperatorToken == "" && c.OperatorTokens == "" {
		return nil
	}
	return operator.NewTokens(c.withSingle(c.namedTokens)...)
}

// withSingle adds the token without a name, if there is one.
func (c config) withSingle(named []operator.Token) []operator.Token {
	if c.OperatorToken == "" {
		return named
	}
	return append(slices.Clone(named), operator.NewToken(c.OperatorToken))
}

// hide keeps tokens out of the log.
func (c config) hide(named []operator.Token) {
	texts := make([]string, len(named))
	for i, one := range named {
		texts[i] = one.Reveal()
	}
	c.hidden.Set(texts...)
}

// followOperatorTokens reads the file again and again, until ctx ends or stop is called. While it is wrong, the tokens
// stay as they are.
func (c config) followOperatorTokens(ctx context.Context, log zerolog.Logger, does role, tokens *operator.Tokens) (stop func()) {
	if c.OperatorTokens == "" || !does.serves() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		known, complaint := c.namedTokens, ""
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(tokensInterval):
			}
			read, err := c.readOperatorTokens()
			switch {
			case err != nil && err.Error() != complaint:
				complaint = err.Error()
				log.Error().Err(err).Msg("SLUICE_OPERATOR_TOKENS_FILE is wrong; the operator's tokens stay as they were")
			case err == nil && (complaint != "" || !operator.Same(known, read)):
				known, complaint = read, ""
				c.hide(read)
				tokens.Set(c.withSingle(read))
				log.Info().Strs("names", operator.Names(read)).Msg("the operator's tokens were read again")
			}
		}
	})
	return func() {
		cancel()
		following.Wait()
	}
}
