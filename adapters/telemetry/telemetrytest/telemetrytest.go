// Package telemetrytest gives tests metrics of which every family that the gateway
// can show has a measurement: those of names, boards, alerts and documents.
package telemetrytest

import (
	"context"
	"database/sql"
	"net/http"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/sluicehq/sluice/adapters/telemetry"
	"github.com/sluicehq/sluice/domain/process"
	"github.com/sluicehq/sluice/domain/run"
	"github.com/sluicehq/sluice/domain/tenant"
)

// Connected returns metrics of which every family has a series. What has none until it is
// connected or called is so here, which brings it under the tests of all of them.
func Connected() *telemetry.Metrics {
	m := telemetry.New("test")
	m.RequestBegan()
	m.RequestEnded(telemetry.Request{Method: http.MethodGet, Route: "/v1/gateway/workflows", Status: http.StatusOK, Took: time.Millisecond})
	m.LimiterDecidedAlone()
	m.LimiterFallback(true)
	m.Database(func() map[string]sql.DBStats { return map[string]sql.DBStats{"writer": {InUse: 1}} })
	m.CredentialCache(func() telemetry.CacheFigures { return telemetry.CacheFigures{Hits: 1} })
	m.LabelTenants(telemetry.EveryTenant)
	m.Storage(func(context.Context) (map[tenant.ID]int64, error) { return map[tenant.ID]int64{"tenant_1": 1}, nil })
	m.Panics("worker", func() int64 { return 1 })
	m.HandOversFailed(func() int64 { return 1 })
	m.TriggersSkipped(run.SkipFiltered, func() int64 { return 1 })
	m.HookDeliveries("accepted", func() int64 { return 1 })
	m.HookRefusals("limit", func() int64 { return 1 })
	m.OldestHookDelivery(func() time.Duration { return time.Second })
	m.OldestAuditEntry(func() time.Duration { return time.Second })
	m.UnreadableDeliveries(func() int64 { return 1 })
	m.Memory("computing", func() telemetry.MemoryPart { return telemetry.MemoryPart{Reserved: 1, Most: 2} })
	m.Queues(func(context.Context, time.Time) ([]process.Queue, error) {
		return []process.Queue{{Name: process.RunQueue, Waiting: 1}}, nil
	}, time.Now)
	return m
}

// Families gathers every family of [Connected] by its name. Its own measurements
// only: those of the handler exist once something serves it.
func Families(tb testing.TB) map[string]*dto.MetricFamily {
	tb.Helper()
	gathered, err := Connected().Gatherer().Gather()
	if err != nil {
		tb.Fatal(err)
	}
	all := make(map[string]*dto.MetricFamily)
	for _, family := range gathered {
		all[family.GetName()] = family
	}
	return all
}
