package broker
import ("testing";"os";"fmt";"strings";"path/filepath")
func dbgFds(t testing.TB) {
	m := map[string]int{}
	es, _ := os.ReadDir("/proc/self/fd")
	for _, e := range es { l, _ := os.Readlink("/proc/self/fd/"+e.Name()); x := filepath.Ext(l); if strings.Contains(l,"shm") {m[x]++} else {m["other"]++} }
	fmt.Println(m)
}
