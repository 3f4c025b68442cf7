package language

import (
	"math"
	"math/bits"
)

// mathFunctions are the members of Math. There is no random: a replay must agree.
var mathFunctions = map[string]builtin{
	"abs": ofOne(math.Abs), "sign": ofOne(signOf),
	"ceil": ofOne(math.Ceil), "floor": ofOne(math.Floor), "round": ofOne(round), "trunc": ofOne(math.Trunc),
	"sqrt": ofOne(math.Sqrt), "cbrt": ofOne(math.Cbrt), "hypot": hypotenuse, "pow": ofTwo(power),
	"exp": ofOne(math.Exp), "expm1": ofOne(math.Expm1),
	"log": ofOne(math.Log), "log10": ofOne(math.Log10), "log1p": ofOne(math.Log1p), "log2": ofOne(math.Log2),
	"sin": ofOne(math.Sin), "cos": ofOne(math.Cos), "tan": ofOne(math.Tan),
	"asin": ofOne(math.Asin), "acos": ofOne(math.Acos), "atan": ofOne(math.Atan), "atan2": ofTwo(math.Atan2),
	"sinh": ofOne(math.Sinh), "cosh": ofOne(math.Cosh), "tanh": ofOne(math.Tanh),
	"asinh": ofOne(math.Asinh), "acosh": ofOne(math.Acosh), "atanh": ofOne(math.Atanh),
	"clz32":  ofOne(func(f float64) float64 { return float64(bits.LeadingZeros32(toUint32(f))) }),
	"fround": ofOne(func(f float64) float64 { return float64(float32(f)) }),
	"imul":   ofTwo(func(x, y float64) float64 { return float64(toInt32(x) * toInt32(y)) }),
	"max":    func(m *Machine, args []any) any { return m.extreme(args, math.Inf(-1), math.Max) },
	"min":    func(m *Machine, args []any) any { return m.extreme(args, math.Inf(1), math.Min) },
}

func ofOne(f func(float64) float64) builtin {
	return func(m *Machine, args []any) any { return f(m.number(argumentAt(args, 0))) }
}

func ofTwo(f func(x, y float64) float64) builtin {
	return func(m *Machine, args []any) any {
		x := m.number(argumentAt(args, 0))
		return f(x, m.number(argumentAt(args, 1)))
	}
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
func (m *Machine) extreme(args []any, start float64, better func(x, y float64) float64) float64 {
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

func hypotenuse(m *Machine, args []any) any {
	m.spend(len(args), 8*len(args))
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
