package config

import "slices"

// nearest finds the name with the fewest edits from key; ok is false if even that one is far.
func nearest(key string, names []*Setting) (best *Setting, ok bool) {
	limit := min(len(key)/3, 6) + 1
	for _, s := range names {
		if d := distance(key, s.Name); d < limit {
			best, limit = s, d
		}
	}
	return best, best != nil
}

// distance is the number of insertions, deletions, replacements and swaps of neighbours between a and b (optimal string
// alignment).
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// Nearest suggests the setting that an unknown key may mean, a broker's or a topic's; empty if none is near.
func Nearest(key string, topic bool) string {
	names := Settings()
	if topic {
		names = TopicSettings()
	}
	names = slices.DeleteFunc(names, func(s *Setting) bool { return s.Name == key })
	if s, ok := nearest(key, names); ok {
		return s.Name
	}
	return ""
}
