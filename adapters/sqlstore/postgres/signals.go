package postgres

// NoticeStatement sends a notice, outside of any unit of work (PostgreSQL manual,
// pg_notify).
func (*notices) NoticeStatement() string { return "SELECT pg_notify($1, $2)" }
