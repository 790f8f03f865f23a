// Package published reads the tables of other people's benchmarks from results/published/*.yaml, as data to compare with.
package published

// Table is what a source claims. Figures are those of the source, in its units. results/published/published.schema.json describes the file.
type Table struct {
	// Name is the file's name without extension.
	Name  string `yaml:"name" json:"name"`
	Title string `yaml:"title" json:"title"`
	// Source says where the figures are from: author, title, date, and how to find it.
	Source string `yaml:"source" json:"source"`
	// Method is what the source says of how it measured; Caveats are what a reader must know about it, with the evidence.
	Method  string   `yaml:"method" json:"method"`
	Caveats []string `yaml:"caveats" json:"caveats"`
	// Servers are the rows of the table by server, Operations those by operation.
	Servers    []Server    `yaml:"servers" json:"servers"`
	Operations []Operation `yaml:"operations" json:"operations"`
	// Conclusions are what the source concludes from its figures, in a form that can be judged.
	Conclusions []Conclusion `yaml:"conclusions" json:"conclusions"`
}

// Server is a row of the table by server.
type Server struct {
	// Server is the name of a server here: of the subjects, those with this name, as themselves or as a variant, are compared with it.
	Server string `yaml:"server" json:"server"`
	// Title says what the source measured.
	Title string `yaml:"title" json:"title"`
	// MeanMS is the mean over all HTTP requests in milliseconds, RequestsPerSecond the rate of HTTP requests, CPUPercent of one CPU, MemoryMB
	// the mean memory in use.
	MeanMS            float64 `yaml:"mean_ms" json:"mean_ms"`
	RequestsPerSecond float64 `yaml:"requests_per_second" json:"requests_per_second"`
	CPUPercent        float64 `yaml:"cpu_percent" json:"cpu_percent"`
	MemoryMB          float64 `yaml:"memory_mb" json:"memory_mb"`
}

// Operation is a row of the table by operation. One of Tool and Method is set.
type Operation struct {
	// Title is the source's name for it.
	Title  string `yaml:"title" json:"title"`
	Tool   string `yaml:"tool" json:"tool,omitempty"`
	Method string `yaml:"method" json:"method,omitempty"`
	// MeanMS has the mean latency in milliseconds by server.
	MeanMS map[string]float64 `yaml:"mean_ms" json:"mean_ms"`
}

// Figures that a Conclusion can be about.
const (
	MeanMS            = "mean_ms"
	RequestsPerSecond = "requests_per_second"
	CPUPercent        = "cpu_percent"
	MemoryMB          = "memory_mb"
)

// Conclusion says how a figure of one server relates to that of another. It is judged by the ratio that was measured.
type Conclusion struct {
	// Text is the claim in a few words of our own.
	Text string `yaml:"text" json:"text"`
	// Figure is one of the constants; Tool or Method name an operation, for MeanMS only.
	Figure string `yaml:"figure" json:"figure"`
	Tool   string `yaml:"tool" json:"tool,omitempty"`
	Method string `yaml:"method" json:"method,omitempty"`
	// Server is compared with Against.
	Server  string `yaml:"server" json:"server"`
	Against string `yaml:"against" json:"against"`
	// Ratio is the figure of Server over that of Against, computed from the table.
	Ratio float64 `yaml:"-" json:"ratio"`
}
