package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain"
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
