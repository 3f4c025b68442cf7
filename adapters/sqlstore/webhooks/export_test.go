package webhooks

import "github.com/sluicehq/sluice/domain/process"

// The statements that choose deliveries to lease.
func ClaimOfDeliveries(s *Store) string { return s.dialect.Claim }

func OwnersOfDueDeliveries(s *Store) string { return s.dialect.dueOwners() }

func NextOfDeliveries(s *Store, level process.Level) string { return s.dialect.nextDelivery(level) }
