package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/ports/outbound"
)

// retiredSecretJSON is a secret that a newer one took the place of.
type retiredSecretJSON struct {
	Secret string    `json:"secret"`
	Until  time.Time `json:"until"`
}

// RestoreSecrets reads a secret and those before it. No error of its shows any of them.
func RestoreSecrets(current, before string) (all domain.SigningSecrets, err error) {
	if all.Current, err = domain.ParseSigningSecret(current); err != nil {
		return all, err
	}
	var retired []retiredSecretJSON
	if err := json.Unmarshal([]byte(before), &retired); err != nil {
		return all, errors.New("the retired secrets are not JSON")
	}
	for _, r := range retired {
		secret, err := domain.ParseSigningSecret(r.Secret)
		if err != nil {
			return all, err
		}
		all.Retired = append(all.Retired, domain.RetiredSecret{Secret: secret, Until: r.Until.UTC()})
	}
	return all, nil
}

// EncodeRetired writes the secrets that a newer one took the place of.
func EncodeRetired(all []domain.RetiredSecret) (string, error) {
	retired := make([]retiredSecretJSON, len(all))
	for i, r := range all {
		retired[i] = retiredSecretJSON{Secret: r.Secret.Reveal(), Until: r.Until.UTC()}
	}
	text, err := json.Marshal(retired)
	if err != nil {
		return "", fmt.Errorf("encode retired secrets: %w", err)
	}
	return string(text), nil
}

// The fields of signing secrets.
const (
	secretField  = "secret"
	retiredField = "retired_secrets"
)

// noRetired is what is kept where there are no retired secrets.
const noRetired = "[]"

// SealSecrets encrypts the secrets of a record for their two columns.
func (u *Unit) SealSecrets(ctx context.Context, all domain.SigningSecrets, of outbound.SecretField) (current, retired string, err error) {
	if retired, err = EncodeRetired(all.Retired); err != nil {
		return "", "", err
	}
	of.Field = secretField
	if current, err = u.SealTextOf01(ctx, all.Current.Reveal(), of); err != nil || retired == noRetired {
		return current, retired, err
	}
	of.Field = retiredField
	retired, err = u.SealTextOf01(ctx, retired, of)
	return current, retired, err
}

// OpenSecrets reads what SealSecrets gave of the record, or 0.1.0 kept.
func (u *Unit) OpenSecrets(ctx context.Context, current, retired string, of outbound.SecretField) (domain.SigningSecrets, error) {
	var err error
	of.Field = secretField
	if current, err = u.OpenTextOf01(ctx, current, of); err != nil {
		return domain.SigningSecrets{}, err
	}
	of.Field = retiredField
	if retired, err = u.OpenTextOf01(ctx, retired, of); err != nil {
		return domain.SigningSecrets{}, err
	}
	return RestoreSecrets(current, retired)
}
