package workflowfile

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// planTriggers makes, changes and removes the triggers of the workflow and their hooks. Those of an active version change with
// what they start: once the file is published.
func (p *Plan) planTriggers(t *target) {
	unpublished := t.current.active != nil && t.version != t.current.active.text("id") && (!p.options.Publish || t.file.draft())
	theirs, key := map[string]map[string]any{}, keys()
	eachOf(t.current.document, "triggers", func(_ string, one map[string]any) { theirs[key(one)] = one })
	key = keys()
	var kept []string
	eachOf(t.file.document, "triggers", func(path string, one map[string]any) {
		k := key(one)
		kept = append(kept, k)
		if unpublished {
			return
		}
		found := t.current.triggers[k]
		if found == nil {
			found = &firing{}
			p.createTrigger(t, path, one, found)
		} else {
			p.changeTrigger(t, path, theirs[k], one, found)
		}
		p.planHook(t, path, theirs[k], one, found)
	})
	if unpublished {
		return
	}
	for k, f := range t.current.triggers {
		if slices.Contains(kept, k) {
			continue
		}
		name := f.record.text("name")
		if !p.options.Prune {
			p.Notes = append(p.Notes, fmt.Sprintf("the trigger %q of %q is not in the file and stays", name, t.file.Name))
			continue
		}
		p.step(t, fmt.Sprintf("delete the trigger %q of %q", name, t.file.Name), func(ctx context.Context) (string, error) {
			return "", p.gateway.remove(ctx, "/triggers/"+f.record.text("id"), f.record)
		})
	}
}

func (p *Plan) createTrigger(t *target, path string, one map[string]any, into *firing) {
	p.step(t, fmt.Sprintf("create the trigger %q of %q", one["name"], t.file.Name), func(ctx context.Context) (string, error) {
		body := map[string]any{"workflowVersionId": t.version, "config": map[string]any{}}
		for _, name := range []string{"name", "type", "isActive", "metadata", "config"} {
			if value, ok := one[name]; ok {
				body[name] = value
			}
		}
		config, err := p.sent(t, join(path, "config"), body["config"])
		if err != nil {
			return "", err
		}
		body["config"] = config
		if err := p.gateway.do(ctx, http.MethodPost, "/triggers", nil, body, &into.record); err != nil {
			return "", partError{path, err}
		}
		return "", nil
	})
}

func (p *Plan) changeTrigger(t *target, path string, was, one map[string]any, found *firing) {
	body := map[string]any{}
	was = maps.Clone(was)
	sayActive(was, one)
	for _, name := range []string{"isActive", "metadata", "config"} {
		if !sameMember(was, one, name) {
			body[name] = one[name]
		}
	}
	if _, ok := body["config"]; ok && body["config"] == nil {
		body["config"] = map[string]any{}
	}
	if _, ok := body["metadata"]; ok {
		body["metadata"] = metadataPatch(was, one)
	}
	at := found.record.text("workflowVersionId")
	attach := at != t.version && at != t.current.active.text("id") // those of the active version move with what is published
	if len(body) == 0 && !attach {
		return
	}
	p.step(t, fmt.Sprintf("change the trigger %q of %q", one["name"], t.file.Name), func(ctx context.Context) (string, error) {
		if attach {
			body["workflowVersionId"] = t.version
		}
		if config, ok := body["config"]; ok {
			var err error
			if body["config"], err = p.sent(t, join(path, "config"), config); err != nil {
				return "", err
			}
		}
		if err := p.gateway.change(ctx, "/triggers/"+found.record.text("id"), found.record, body); err != nil {
			return "", partError{path, err}
		}
		return "", nil
	})
}

// planHook makes, changes or removes the hook of a trigger.
func (p *Plan) planHook(t *target, path string, was, one map[string]any, found *firing) {
	name, path := one["name"], join(path, "hook")
	before, _ := was["hook"].(map[string]any)
	after, _ := one["hook"].(map[string]any)
	at := func() string { return "/triggers/" + found.record.text("id") + "/hook" }
	switch {
	case after == nil && before == nil:
	case after == nil && !p.options.Prune:
		p.Notes = append(p.Notes, fmt.Sprintf("the hook of the trigger %q of %q is not in the file and stays", name, t.file.Name))
	case after == nil:
		p.step(t, fmt.Sprintf("delete the hook of the trigger %q of %q", name, t.file.Name), func(ctx context.Context) (string, error) {
			return "", p.gateway.remove(ctx, at(), found.hook)
		})
	case before == nil:
		p.step(t, fmt.Sprintf("create the hook of the trigger %q of %q", name, t.file.Name), func(ctx context.Context) (string, error) {
			body, err := p.sent(t, path, wholeHook(after))
			if err != nil {
				return "", err
			}
			if err := p.gateway.do(ctx, http.MethodPost, at(), nil, body, &found.hook); err != nil {
				return "", partError{path, err}
			}
			if p.options.ShowAddresses {
				return "its address: " + found.hook.text("url"), nil
			}
			return "its address is a secret, and was not shown: --show-addresses does, and so does rotating it", nil
		})
	default:
		before = maps.Clone(before)
		sayActive(before, after)
		if inline(before, hookShape) == inline(after, hookShape) {
			return
		}
		p.step(t, fmt.Sprintf("change the hook of the trigger %q of %q", name, t.file.Name), func(ctx context.Context) (string, error) {
			body, err := p.sent(t, path, wholeHook(after))
			if err != nil {
				return "", err
			}
			if err := p.gateway.change(ctx, at(), found.hook, body); err != nil {
				return "", partError{path, err}
			}
			return "", nil
		})
	}
}

// wholeHook is a hook with what is usual where the file leaves something out, which a change would leave as it is.
func wholeHook(file map[string]any) map[string]any {
	return whole(hookShape, file).(map[string]any) // an object stays one
}

func whole(s shape, value any) any {
	v, isObject := value.(map[string]any)
	if len(s.members) > 0 && (isObject || value == nil) {
		made := map[string]any{}
		for _, m := range s.members {
			if found := whole(m.shape, v[m.name]); found != nil || m.kind != boolean {
				made[m.name] = found
			}
		}
		return made
	}
	switch {
	case value != nil:
		return value
	case s.usual != nil:
		return s.usual
	case s.kind == list:
		return []any{}
	default:
		return nil
	}
}
