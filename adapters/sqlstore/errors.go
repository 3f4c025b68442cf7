package sqlstore

import "github.com/sluicehq/sluice/domain"

// UniqueConflict returns the Conflict that the violation of a unique index means,
// nil for an index that only a defect can violate. Both databases name their
// indexes alike.
func UniqueConflict(index string) *domain.Error {
	switch index {
	case "workflows_name":
		return domain.Fail(domain.Conflict, "workflow_name_taken",
			"Another workflow of this tenant and sub-tenant bears this name. Choose another one.")
	case "custom_node_versions_taken":
		return domain.Fail(domain.Conflict, "custom_node_exists",
			"This tenant has defined this type and version before. What a version stands for never changes; choose a higher one.")
	case "sub_tenants_identifier":
		return domain.Fail(domain.Conflict, "sub_tenant_exists", "A sub-tenant of this identifier is registered already.")
	case "hooks_taken":
		return domain.Fail(domain.Conflict, "hook_exists", "The trigger has a hook already. Change it, or give it another address by rotating it.")
	case "users_email":
		return domain.Fail(domain.Conflict, "user_exists", "There is a user with this mail address already.")
	case "users_identity":
		return domain.Fail(domain.Conflict, "identity_taken", "Another user signs in with this identity.")
	case "memberships_user":
		return domain.Fail(domain.Conflict, "member_exists", "The user is a member of this tenant already.")
	default:
		return nil
	}
}
