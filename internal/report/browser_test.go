package report_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestInBrowser opens the page as readers do. The screenshots can be looked at: go test -artifacts -run InBrowser.
func TestInBrowser(t *testing.T) {
	b := browser(t)
	t.Run("looks", func(t *testing.T) { testLooks(t, b) })
	t.Run("zoom", func(t *testing.T) { testZoom(t, b) })
	t.Run("without script", func(t *testing.T) { testWithoutScript(t, b) })
	t.Run("complaints", func(t *testing.T) { testComplaints(t, b) })
}

// browser starts a browser that resolves no name. Tests open tabs in it.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("this test needs Chromium or Chrome on the PATH, because the page is made for browsers: on Debian and Ubuntu, apt-get install chromium")
	}
	var output bytes.Buffer
	t.Cleanup(func() { // after the browser has ended
		if t.Failed() {
			t.Logf("%s said:\n%s", path, output.String())
		}
	})
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, // it shows one file of ours, and a container's root has no sandbox
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.CombinedOutput(&output))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// tab is a place to open a file in, and all that went wrong there.
type tab struct {
	ctx     context.Context
	address string
	mu      sync.Mutex
	wrong   []string
}

func open(t *testing.T, browser context.Context, page string) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	write(t, file, []byte(page))
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{ctx: ctx, address: "file://" + file}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch event := event.(type) {
		case *runtime.EventConsoleAPICalled:
			b.wrong = append(b.wrong, fmt.Sprintf("console.%s: %s", event.Type, event.Args[0].Value))
		case *runtime.EventExceptionThrown:
			b.wrong = append(b.wrong, "exception: "+event.ExceptionDetails.Exception.Description)
		case *log.EventEntryAdded:
			b.wrong = append(b.wrong, fmt.Sprintf("%s: %s", event.Entry.Level, event.Entry.Text))
		case *network.EventRequestWillBeSent:
			if event.Request.URL != b.address {
				b.wrong = append(b.wrong, "request: "+event.Request.URL)
			}
		}
	})
	// The first run makes the tab, which would end with a context that has a time limit.
	if err := chromedp.Run(ctx, log.Enable(), network.Enable()); err != nil {
		t.Fatal(err)
	}
	return b
}

// run does something in the tab.
func (b *tab) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute) // a busy machine takes seconds
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// evaluate returns the value of a JavaScript expression, or of the promise that it is.
func evaluate[T any](t *testing.T, b *tab, expression string) T {
	t.Helper()
	var value T
	b.run(t, chromedp.Evaluate(expression, &value, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return value
}

// complaints are what the browser had to say, and requests that left the file.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wrong
}

// look sets how wide the window is and which colours the reader prefers, and opens the page.
func (b *tab) look(t *testing.T, width int64, scheme string) {
	b.run(t, chromedp.EmulateViewport(width, 800))
	b.prefer(t, scheme)
	b.run(t, chromedp.Navigate(b.address))
}

func (b *tab) prefer(t *testing.T, scheme string) {
	t.Helper()
	b.run(t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// shown counts the elements that take room on the page.
const shown = `(selector) => [...document.querySelectorAll(selector)].filter((e) => e.getBoundingClientRect().width > 100 && e.getBoundingClientRect().height > 20).length`

// testLooks checks what is seen in light and dark, on a wide and on a narrow screen.
func testLooks(t *testing.T, browser context.Context) {
	_, page := measuredPage(t)
	b := open(t, browser, page)
	plots := strings.Count(page, "<svg ")
	corners := map[string]color.Color{}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1200, 400} {
			name := fmt.Sprintf("%s at %d", scheme, width)
			b.look(t, width, scheme)
			if got := evaluate[int](t, b, "("+shown+")('svg')"); got != plots || plots == 0 {
				t.Errorf("%s: %d plots are shown, wanted %d", name, got, plots)
			}
			if over := evaluate[int64](t, b, "document.documentElement.scrollWidth"); over > width {
				t.Errorf("%s: the page is %d wide", name, over)
			}
			var shot []byte
			b.run(t, chromedp.FullScreenshot(&shot, 100))
			write(t, filepath.Join(t.ArtifactDir(), fmt.Sprintf("%s-%d.png", scheme, width)), shot)
			picture, err := png.Decode(bytes.NewReader(shot))
			if err != nil {
				t.Fatal(err)
			}
			if got := picture.Bounds().Dx(); got != int(width) {
				t.Errorf("%s: the screenshot is %d wide", name, got)
			}
			if n := coloursOf(picture); n < 50 {
				t.Errorf("%s: the screenshot has %d colours only", name, n)
			}
			corners[name] = picture.At(1, 1)
		}
	}
	if light, dark := brightness(corners["light at 1200"]), brightness(corners["dark at 1200"]); light < 0.9 || dark > 0.2 {
		t.Errorf("the page has a brightness of %.2f in light and of %.2f in dark", light, dark)
	}
	for _, wrong := range b.complaints() {
		t.Error(wrong)
	}
}

// coloursOf counts the colours of every third point: more are not needed to see that something was drawn.
func coloursOf(picture image.Image) int {
	seen := map[color.Color]bool{}
	for y := 0; y < picture.Bounds().Dy(); y += 3 {
		for x := 0; x < picture.Bounds().Dx(); x += 3 {
			seen[picture.At(x, y)] = true
		}
	}
	return len(seen)
}

func brightness(c color.Color) float64 {
	return float64(color.GrayModel.Convert(c).(color.Gray).Y) / 255
}

// testZoom zooms into every timeline, out again, and puts it back.
func testZoom(t *testing.T, browser context.Context) {
	run, page := measuredPage(t)
	b := open(t, browser, page)
	b.look(t, 1200, "light")
	timelines := evaluate[int](t, b, "document.querySelectorAll('figure.timeline').length")
	if want := 2 * len(run.Experiment.Workloads); timelines != want {
		t.Fatalf("there are %d timelines, wanted %d", timelines, want)
	}
	for i := range timelines {
		figure := fmt.Sprintf("document.querySelectorAll('figure.timeline')[%d]", i)
		evaluate[*int](t, b, "void "+figure+".scrollIntoView()")
		evaluate[*int](t, b, figure+".querySelector('button').click()")
		lines, series := evaluate[int](t, b, figure+".querySelectorAll('svg .line').length"), evaluate[int](t, b, figure+".querySelectorAll('.u-series').length")
		if series != lines+1 { // and the time
			t.Errorf("timeline %d: the chart has %d series for %d lines", i, series, lines)
		}
		if evaluate[bool](t, b, figure+".querySelector('svg').checkVisibility()") {
			t.Errorf("timeline %d: the plot is shown beside the chart", i)
		}
		picture := func() string {
			t.Helper()
			// uPlot draws in a microtask; a frame later it has.
			const frame = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
			return evaluate[string](t, b, "(async () => { await "+frame+"; return "+figure+".querySelector('canvas').toDataURL(); })()")
		}
		whole := picture()
		over := evaluate[map[string]float64](t, b, figure+".querySelector('.u-over').getBoundingClientRect().toJSON()")
		at := func(share float64) (x, y float64) {
			return over["x"] + share*over["width"], over["y"] + over["height"]/2
		}
		x, y := at(0.6)
		b.run(t, chromedp.MouseEvent(input.MouseMoved, x, y))
		b.run(t, chromedp.MouseEvent(input.MousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
		x, y = at(0.8)
		b.run(t, chromedp.MouseEvent(input.MouseMoved, x, y, chromedp.ButtonLeft))
		b.run(t, chromedp.MouseEvent(input.MouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
		if picture() == whole {
			t.Errorf("timeline %d: dragging does not zoom", i)
		}
		x, y = at(0.5)
		b.run(t, chromedp.MouseClickXY(x, y))
		b.run(t, chromedp.MouseClickXY(x, y, chromedp.ClickCount(2)))
		if picture() != whole {
			t.Errorf("timeline %d: a double click does not show all of it", i)
		}
		if i == 0 {
			var shot []byte
			b.run(t, chromedp.CaptureScreenshot(&shot))
			write(t, filepath.Join(t.ArtifactDir(), "zoom.png"), shot)
			b.prefer(t, "dark")
			if picture() == whole {
				t.Error("the chart keeps its light colours in the dark")
			}
			b.prefer(t, "light")
		}
		evaluate[*int](t, b, figure+".querySelector('button').click()")
		if !evaluate[bool](t, b, figure+".querySelector('svg').checkVisibility()") {
			t.Errorf("timeline %d: the plot does not come back", i)
		}
	}
	for _, wrong := range b.complaints() {
		t.Error(wrong)
	}
}

// testWithoutScript checks that only the zoom is lost.
func testWithoutScript(t *testing.T, browser context.Context) {
	_, page := measuredPage(t)
	const count = "[" + "(" + shown + ")('table'), (" + shown + ")('svg'), (" + shown + ")('pre')]"
	b := open(t, browser, page)
	b.look(t, 1200, "light")
	with, text := evaluate[[3]int](t, b, count), evaluate[string](t, b, "document.body.innerText")
	off := open(t, browser, page)
	off.run(t, emulation.SetScriptExecutionDisabled(true))
	off.look(t, 1200, "light")
	if without := evaluate[[3]int](t, off, count); without != with || without[0] == 0 || without[1] == 0 {
		t.Errorf("%d tables, plots and blocks of commands are shown without script, and %d with it", without, with)
	}
	plain := evaluate[string](t, off, "document.body.innerText")
	if !strings.Contains(text, "Zoom") || strings.Contains(plain, "Zoom") {
		t.Error("the script adds no button, or one is there without it")
	}
	if got := strings.ReplaceAll(text, " Zoom", ""); got != plain {
		t.Errorf("the script changes the text of the page from\n%s\nto\n%s", plain, got)
	}
	for _, wrong := range off.complaints() {
		t.Error(wrong)
	}
}

// testComplaints checks that the tests above would notice.
func testComplaints(t *testing.T, browser context.Context) {
	for _, test := range []struct{ body, want string }{
		{`<img src="http://pictures.example/a.png" alt=""/>`, "request: http://pictures.example/a.png"},
		{`<script>console.warn("careful")</script>`, "console.warning: \"careful\""},
		{`<script>throw new Error("no")</script>`, "exception: "},
		{`<meta http-equiv="Content-Security-Policy" content="script-src 'none'"/><script>1</script>`, "error: Executing inline script violates"},
	} {
		b := open(t, browser, test.body)
		b.look(t, 400, "light")
		if all := strings.Join(b.complaints(), "\n"); !strings.Contains(all, test.want) {
			t.Errorf("%s: got %q, wanted %q in it", test.body, all, test.want)
		}
	}
}
