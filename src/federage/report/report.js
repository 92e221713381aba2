// Draws each figure live in the place of its still drawing, and lets the buttons hide a method in all of them.
const hidden = new Set();
const views = [];

// Data come column by column; Vega wants rows.
function rows(columns) {
  const names = Object.keys(columns);
  return columns[names[0]].map((_, k) => Object.fromEntries(names.map((name) => [name, columns[name][k]])));
}

function apply(view) {
  return view.signal("hidden", [...hidden]).runAsync();
}

async function enliven(place) {
  const { spec, data } = JSON.parse(document.getElementById(place.dataset.source).textContent);
  const datasets = Object.fromEntries(Object.entries(data).map(([name, columns]) => [name, rows(columns)]));
  const live = document.createElement("div");
  const { view } = await vegaEmbed(live, { ...spec, datasets }, {
    mode: "vega-lite",
    renderer: "svg",
    ast: true, // expressions are interpreted: the page forbids the evaluation of text
    actions: false,
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  });
  await apply(view);
  place.replaceChildren(live);
  views.push(view);
}

for (const button of document.querySelectorAll("button[data-method]")) {
  button.disabled = false;
  button.addEventListener("click", () => {
    const method = button.dataset.method;
    const shown = hidden.delete(method);
    if (!shown) hidden.add(method);
    for (const other of document.querySelectorAll("button[data-method]")) {
      other.setAttribute("aria-pressed", String(!hidden.has(other.dataset.method)));
    }
    views.forEach(apply);
  });
}

Promise.all([...document.querySelectorAll("[data-source]")].map(enliven)).then(() => {
  document.documentElement.dataset.figures = "live";
});
