package run

// cache holds what is computed from a run's state when it is first needed. Every
// output is read from its text, also right after it was computed: so two outputs
// never share an object, and a run that was stored and read again compares objects
// as one that stayed in memory does.
type cache struct {
	outputs []cached           // by place of the node
	given   [givenTexts]cached // the payload, and what the run of an item has besides
	read    int64              // weight of all values that are known
	run     map[string]any     // the root run
}

type cached struct {
	value  any
	known  bool
	weight int64 // of the value; 0 while that is not known
}
