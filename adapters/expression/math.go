package expression

import "math"

// mathFunctions are the members of Math. There is no random: a replay must agree.
var mathFunctions = map[string]builtin{
	"abs":   ofOne(math.Abs),
	"cbrt":  ofOne(math.Cbrt),
	"ceil":  ofOne(math.Ceil),
	"exp":   ofOne(math.Exp),
	"floor": ofOne(math.Floor),
	"hypot": hypotenuse,
	"log":   ofOne(math.Log),
	"log10": ofOne(math.Log10),
	"log2":  ofOne(math.Log2),
	"max":   func(m *machine, args []any) any { return m.extreme(args, math.Inf(-1), math.Max) },
	"min":   func(m *machine, args []any) any { return m.extreme(args, math.Inf(1), math.Min) },
	"pow":   powerOf,
	"round": ofOne(round),
	"sign":  ofOne(signOf),
	"sqrt":  ofOne(math.Sqrt),
	"trunc": ofOne(math.Trunc),
}

func ofOne(f func(float64) float64) builtin {
	return func(m *machine, args []any) any { return f(m.number(argumentAt(args, 0))) }
}

func powerOf(m *machine, args []any) any {
	x := m.number(argumentAt(args, 0))
	return power(x, m.number(argumentAt(args, 1)))
}

// round is Math.round: halves go up, and what is rounded to zero keeps its sign.
func round(f float64) float64 {
	if math.Abs(f) >= 1<<52 || f != f {
		return f
	}
	floor := math.Floor(f)
	if f-floor >= 0.5 {
		floor++
	}
	return math.Copysign(floor, f)
}

func signOf(f float64) float64 {
	switch {
	case f > 0:
		return 1
	case f < 0:
		return -1
	}
	return f
}

// extreme is Math.max and Math.min; NaN wins.
func (m *machine) extreme(args []any, start float64, better func(x, y float64) float64) float64 {
	m.spend(len(args), 0)
	result := start
	for _, arg := range args {
		if f := m.number(arg); f != f || result != result {
			result = math.NaN()
		} else {
			result = better(result, f)
		}
	}
	return result
}

func hypotenuse(m *machine, args []any) any {
	m.spend(len(args), 0)
	largest, missing := 0.0, false
	numbers := make([]float64, len(args))
	for i, arg := range args {
		numbers[i] = math.Abs(m.number(arg))
		missing = missing || math.IsNaN(numbers[i])
		if numbers[i] > largest {
			largest = numbers[i]
		}
	}
	switch {
	case math.IsInf(largest, 0):
		return largest
	case missing:
		return math.NaN()
	case largest == 0:
		return 0.0
	}
	sum, lost := 0.0, 0.0
	for _, f := range numbers {
		square := (f/largest)*(f/largest) - lost
		next := sum + square
		lost = (next - sum) - square
		sum = next
	}
	return math.Sqrt(sum) * largest
}
