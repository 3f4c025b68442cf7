package jsonread

// fewNames is up to how many names comparing each with each is cheaper than a map.
const fewNames = 16

// names are those of one object's members so far.
type names struct {
	count int
	few   [fewNames]uint32
	many  map[string]struct{}
}

// add says whether the name is new.
func (s *names) add(t *tree, at uint32) bool {
	if s.count < fewNames {
		for _, other := range s.few[:s.count] {
			if same(t, other, at) {
				return false
			}
		}
		s.few[s.count] = at
		s.count++
		return true
	}
	if s.many == nil {
		s.many = make(map[string]struct{}, 2*fewNames)
		for _, other := range s.few {
			s.many[t.str(other)] = struct{}{}
		}
	}
	name := t.str(at)
	_, known := s.many[name]
	s.many[name] = struct{}{}
	return !known
}

func same(t *tree, a, b uint32) bool {
	if t.nodes[a].escaped || t.nodes[b].escaped {
		return t.str(a) == t.str(b)
	}
	return t.raw(a) == t.raw(b)
}
