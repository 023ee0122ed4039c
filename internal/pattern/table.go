package pattern

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
)

// alphabet is the characters of topics' names.
const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// table is the states of a pattern. State 0 is where nothing matches any more, state 1 where a name begins.
type table struct {
	classes [256]uint8 // by byte; 0: no topic has it
	width   int        // classes, that of foreign bytes among them
	next    []uint16   // by state times width plus class
	accept  []bool     // by state: the name may end there
}

func (t *table) match(name string) bool {
	state := 1
	for i := range len(name) {
		if state = int(t.next[state*t.width+int(t.classes[name[i]])]); state == 0 {
			return false
		}
	}
	return t.accept[state]
}

func (t *table) size() int { return 512 + 2*cap(t.next) + cap(t.accept) }

// builder makes a table of a program: each state is the set of instructions that a name may be at.
type builder struct {
	table
	prog    *syntax.Prog
	samples []rune // one character of each class; that of class 0 is not used
	context bool   // the program looks at what is beside a character: ^, $, \b, \B
	ids     map[string]uint16
	states  []state
	steps   int

	mark  []int // by instruction: the walk that was there last
	walks int
	stack []uint32
}

// state is where a name may be in the program.
type state struct {
	at     []uint32 // instructions, ascending
	before rune     // a character like the one before; -1: the name begins
}

// build makes the table of prog; ok is false if it would take too much.
func build(prog *syntax.Prog) (t table, ok bool) {
	b := &builder{prog: prog, ids: make(map[string]uint16), mark: make([]int, len(prog.Inst))}
	b.classify()
	b.add(state{before: -1})
	b.add(state{at: []uint32{uint32(prog.Start)}, before: -1}) //nolint:gosec // an index
	for i := 0; i < len(b.states); i++ {                       //nolint:intrange // fill adds states
		if !b.fill(b.states[i]) {
			return table{}, false
		}
	}
	b.next, b.accept = slices.Clip(b.next), slices.Clip(b.accept)
	return b.table, true
}

// classify puts characters that no instruction tells apart into one class.
func (b *builder) classify() {
	for i := range len(alphabet) {
		b.classes[alphabet[i]] = 1
	}
	seen := make(map[*rune]bool)
	b.split(syntax.IsWordChar)
	for i := range b.prog.Inst {
		in := &b.prog.Inst[i]
		switch in.Op {
		case syntax.InstEmptyWidth:
			b.context = true
		case syntax.InstRune, syntax.InstRune1:
			if !seen[&in.Rune[0]] {
				seen[&in.Rune[0]] = true
				b.split(in.MatchRune)
			}
		default:
		}
	}
	b.samples = make([]rune, b.width)
	for i := range len(alphabet) {
		b.samples[b.classes[alphabet[i]]] = rune(alphabet[i])
	}
}

// split divides the classes into those for which is holds and the rest.
func (b *builder) split(is func(rune) bool) {
	type part struct {
		class uint8
		is    bool
	}
	ids := make(map[part]uint8)
	for i := range len(alphabet) {
		c := alphabet[i]
		p := part{b.classes[c], is(rune(c))}
		if ids[p] == 0 {
			ids[p] = uint8(len(ids) + 1) //nolint:gosec // the alphabet is small
		}
		b.classes[c] = ids[p]
	}
	b.width = len(ids) + 1
}

// add is the number of a state, which may be new; without instructions it is 0.
func (b *builder) add(s state) uint16 {
	if len(s.at) == 0 && len(b.states) > 0 {
		return 0
	}
	key := make([]byte, 0, 4*len(s.at)+4)
	for _, pc := range s.at {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	key = binary.LittleEndian.AppendUint32(key, uint32(s.before)) //nolint:gosec // all its bits
	id, ok := b.ids[string(key)]
	if !ok {
		id = uint16(len(b.states)) //nolint:gosec // fill bounds it
		b.ids[string(key)] = id
		b.states = append(b.states, s)
	}
	return id
}

// fill makes the row of a state, and reports whether the table is within its limits.
func (b *builder) fill(s state) bool {
	ends := syntax.EmptyOpContext(s.before, -1)
	_, accept := b.reach(s.at, ends)
	b.accept = append(b.accept, accept)
	b.next = append(b.next, 0)
	var runs [2][]uint32 // what is reached before a character of no word, and of a word
	for i, r := range [2]rune{'-', 'a'} {
		if i == 0 || b.context {
			runs[i], _ = b.reach(s.at, syntax.EmptyOpContext(s.before, r))
		} else {
			runs[i] = runs[0]
		}
	}
	for class := 1; class < b.width; class++ {
		r := b.samples[class]
		run := runs[0]
		if syntax.IsWordChar(r) {
			run = runs[1]
		}
		b.next = append(b.next, b.add(state{at: b.step(run, r), before: b.like(r)}))
		if b.steps > stepsMax || len(b.states)*b.width > cellsMax || len(b.states) > StatesMax {
			return false
		}
	}
	return true
}

// like is the character that stands for r as the one before: those that assertions do not tell apart are one.
func (b *builder) like(r rune) rune {
	if !b.context || syntax.IsWordChar(r) {
		return 'a'
	}
	return '-'
}

// reach is the instructions that take a character and can be come to from those in at without one; matched: the end of the program, too.
func (b *builder) reach(at []uint32, flags syntax.EmptyOp) (run []uint32, matched bool) {
	b.walks++
	b.stack = append(b.stack[:0], at...)
	for len(b.stack) > 0 {
		pc := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		if b.mark[pc] == b.walks {
			continue
		}
		b.mark[pc] = b.walks
		b.steps++
		in := &b.prog.Inst[pc]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			b.stack = append(b.stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			b.stack = append(b.stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flags == 0 { //nolint:gosec // a byte
				b.stack = append(b.stack, in.Out)
			}
		case syntax.InstMatch:
			matched = true
		case syntax.InstFail:
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			run = append(run, pc)
		}
	}
	return run, matched
}

// step is where the instructions in run lead to with r, ascending.
func (b *builder) step(run []uint32, r rune) []uint32 {
	var to []uint32
	b.walks++
	b.steps += len(run)
	for _, pc := range run {
		in := &b.prog.Inst[pc]
		if in.MatchRune(r) && b.mark[in.Out] != b.walks {
			b.mark[in.Out] = b.walks
			to = append(to, in.Out)
		}
	}
	slices.Sort(to)
	return to
}
