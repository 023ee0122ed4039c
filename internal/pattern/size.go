package pattern

import "regexp/syntax"

// sizeMax is where size stops to count: products of it with a count of repetitions fit an int of 64 bits, and of 32 with the limit below.
const sizeMax = 1 << 20

// size is no less than the instructions of the program that re compiles to, but for the two of every program, or sizeMax. It is found
// without making the program: a repetition counts as often as it is repeated.
func size(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		if n += size(sub); n >= sizeMax {
			return sizeMax
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		n = max(len(re.Rune), 1)
	case syntax.OpCapture:
		n += 2
	case syntax.OpConcat:
	case syntax.OpAlternate:
		n += len(re.Sub)
	case syntax.OpRepeat:
		n = repeated(n, re.Min, re.Max)
	default: // one character, an assertion, a branch
		n++
	}
	return min(n, sizeMax)
}

// repeated is size for x{least,most} with an x of n instructions: a branch goes before each copy that may be missing.
func repeated(n, least, most int) int {
	if most < 0 {
		return n*max(least, 1) + 1
	}
	return max(n*least+(n+1)*(most-least), 1)
}
