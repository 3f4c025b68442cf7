package sqlstore

// The statements that choose deliveries to lease.
func ClaimOfDeliveries(s *Store) string { return s.dialect.Webhooks.Claim }

func OwnersOfDueDeliveries(s *Store) string { return s.dialect.dueOwners() }

func NextOfDeliveries(s *Store) string { return s.nextDelivery() }
