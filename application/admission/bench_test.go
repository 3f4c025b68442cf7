package admission_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluicehq/sluice/application/admission"
	"github.com/sluicehq/sluice/domain"
	"github.com/sluicehq/sluice/domain/tenant"
	"github.com/sluicehq/sluice/ports/inbound"
	"github.com/sluicehq/sluice/ports/outbound"
)

// remembered is a directory that knows one key, as one that answers from memory does.
type remembered struct {
	outbound.Directory
	hash  tenant.KeyHash
	found outbound.Credential
}

func (d remembered) Credential(_ context.Context, hash tenant.KeyHash) (outbound.Credential, error) {
	if hash != d.hash {
		return outbound.Credential{}, domain.Fail(domain.NotFound, "api_key_not_found", "There is no such API key.")
	}
	return d.found, nil
}

func (remembered) RecordUse(context.Context, outbound.Credential, time.Time) {}

// generous lets everybody in.
type generous struct{ outbound.Limiter }

func (generous) Acquire(context.Context, string, int, time.Duration, int) (outbound.Acquisition, error) {
	return outbound.Acquisition{Allowance: outbound.Allowance{Granted: true, Remaining: 1}, Acquired: true, Release: func() {}}, nil
}

type fixed time.Time

func (c fixed) Now() time.Time { return time.Time(c) }

// prepared is the service, with a tenant and the text of its key.
func prepared(b *testing.B, noon time.Time) (*admission.Service, *tenant.Tenant, string) {
	b.Helper()
	ten, err := tenant.New("tenant_1", tenant.Draft{Name: "Acme"}, noon)
	if err != nil {
		b.Fatal(err)
	}
	text := tenant.NewKeyText(tenant.Secret, [tenant.KeyEntropy]byte{1})
	k, err := tenant.NewAPIKey("key_1", ten.ID(), tenant.KeyDraft{Type: tenant.Secret, Name: "deploy"}, text, noon)
	if err != nil {
		b.Fatal(err)
	}
	known := remembered{hash: text.Hash(), found: outbound.Credential{Key: k, Tenant: ten}}
	return admission.New(known, nil, generous{}, fixed(noon)), ten, text.Reveal()
}

// BenchmarkConfirm measures what an open stream costs every two seconds.
func BenchmarkConfirm(b *testing.B) {
	service, _, revealed := prepared(b, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	b.ReportAllocs()
	for b.Loop() {
		if err := service.Confirm(context.Background(), inbound.Credentials{Key: revealed}, tenant.FollowRun); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAdmit measures what admission itself costs a request: checksum and digest of
// the key, the state of key and tenant, and the permission.
func BenchmarkAdmit(b *testing.B) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	service, ten, revealed := prepared(b, noon)
	b.ReportAllocs()
	for b.Loop() {
		in, err := service.Admit(context.Background(), inbound.Credentials{Key: revealed}, tenant.CreateTrigger)
		if err != nil || in.Caller.Tenant() != ten.ID() {
			b.Fatalf("admitted %+v, %v", in.Caller, err)
		}
		in.Leave()
	}
}
