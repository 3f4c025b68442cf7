package runs_test

func (brokenExpression) NodesRead() ([]string, bool) { return nil, true }
