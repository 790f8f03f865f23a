package load

// Split shares out the CPUs: the last one for the server under test, the others for the load generator and the upstream
// service. With a single CPU all share it, and the note, which is empty otherwise, says so.
func Split(cpus []int) (server, generator []int, note string) {
	last := len(cpus) - 1
	if last == 0 {
		return cpus, cpus, "This machine has one CPU: the load generator and the upstream service take time from the server, so figures are lower " +
			"than the server's own and must not be compared with those of other machines."
	}
	return cpus[last:], cpus[:last], ""
}
