package sqlstore

// The statements that choose deliveries to lend.
func ClaimOfDeliveries(s *Store) string { return s.dialect.claimDeliveries() }

func OwnersOfDueDeliveries(s *Store) string { return s.dialect.dueOwners() }

var NextOfDeliveries = nextDelivery
