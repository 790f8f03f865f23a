// Gives each timeline a button that shows it as a chart to zoom into. Without this script the page lacks that button, and nothing else.
{
  const charts = [];

  for (const figure of document.querySelectorAll("figure.timeline")) {
    const plot = figure.querySelector(".scroll");
    const chart = document.createElement("div");
    chart.hidden = true;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Zoom";
    button.setAttribute("aria-pressed", "false");
    const hint = document.createElement("span");
    hint.className = "faint";
    hint.textContent = " Drag across the chart to zoom in, double-click to see all of it.";
    hint.hidden = true;
    figure.querySelector("figcaption").append(" ", button, hint);
    figure.append(chart);
    const entry = { figure, chart, drawn: null };
    charts.push(entry);
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(on));
      hint.hidden = chart.hidden = !on;
      plot.hidden = on;
      if (on) draw(entry);
    });
  }

  // The canvas of a chart does not follow the style sheet by itself.
  const redraw = () => charts.forEach((entry) => entry.chart.hidden || draw(entry));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("resize", () => {
    for (const { figure, drawn } of charts) drawn?.setSize({ width: figure.clientWidth, height: drawn.height });
  });

  function draw(entry) {
    const { figure, chart } = entry;
    entry.drawn?.destroy();
    const data = JSON.parse(figure.querySelector("script").textContent);
    const page = getComputedStyle(document.documentElement);
    const colour = (name) => page.getPropertyValue(name).trim();
    const paths = figure.querySelectorAll("svg .line"); // one of each line, with its look
    const axis = { stroke: colour("--faint"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), width: 1 } };
    const series = data.lines.map((line, i) => {
      const look = getComputedStyle(paths[i]);
      const dash = look.strokeDasharray === "none" ? [] : look.strokeDasharray.split(",").map(parseFloat);
      return { label: line.name, stroke: look.stroke, width: 2, dash, spanGaps: false, points: { show: false } };
    });
    const options = {
      width: figure.clientWidth,
      height: 340,
      scales: { x: { time: false }, y: data.log ? { distr: 3 } : {} },
      axes: [{ ...axis, label: "seconds since the window began" }, { ...axis, label: data.label, size: 64 }],
      series: [{ label: "second" }, ...series],
      hooks: {
        // The window, behind the lines.
        drawClear: [
          (u) => {
            const from = Math.max(u.valToPos(0, "x", true), u.bbox.left);
            const to = Math.min(u.valToPos(data.window, "x", true), u.bbox.left + u.bbox.width);
            u.ctx.fillStyle = colour("--window");
            if (to > from) u.ctx.fillRect(from, u.bbox.top, to - from, u.bbox.height);
          },
        ],
      },
    };
    entry.drawn = new uPlot(options, [data.seconds, ...data.lines.map((line) => line.values)], chart);
  }
}
