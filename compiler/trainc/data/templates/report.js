"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { jobs, graphs, images, findings, codes } = data;
  const PAGE = 50;
  const SHOWN = 7;
  const SVG = "http://www.w3.org/2000/svg";
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const number = new Intl.NumberFormat("en");
  const byId = (id) => document.getElementById(id);
  const plural = (count, word) => `${number.format(count)} ${word}${count === 1 ? "" : "s"}`;

  const make = (name, options = {}, ...children) => {
    const { on, text, ...attributes } = options;
    const element = name.startsWith("svg:")
      ? document.createElementNS(SVG, name.slice(4))
      : document.createElement(name);
    for (const [key, value] of Object.entries(attributes))
      if (value !== null && value !== false) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    if (on) element.addEventListener("click", on);
    element.append(...children.filter((child) => child !== null));
    return element;
  };

  // What can be filtered by: the values of a job. Findings of a job count once per code.
  const FACETS = [
    { key: "namespace", title: "Namespaces", of: (job) => [job.namespace] },
    { key: "runtime", title: "Runtimes", of: (job) => [job.runtime] },
    { key: "queue", title: "Queues", of: (job) => [job.queue], none: "no queue" },
    { key: "environment", title: "Environments", of: (job) => [job.environment] },
    { key: "code", title: "Findings", of: (job) => job.codes, label: (code) => `${code}  ${codes[code]}` },
  ];
  const MEASURES = { gpus: "GPUs", pods: "Pods", jobs: "Jobs" };
  const STATES = {
    all: ["All jobs", () => true],
    errors: ["With errors", (job) => job.worst === 0],
    warnings: ["With errors or warnings", (job) => job.worst <= 1],
    unpinned: ["With images that are not pinned", (job) => job.images.some((image) => images[image].digest === null)],
    suspended: ["Suspended", (job) => job.state === "suspended"],
  };
  const SEVERITIES = ["error", "warning", "note"];
  const holders = findings.map(() => []);
  const users = images.map(() => []);
  jobs.forEach((job, index) => {
    job.index = index;
    job.codes = [...new Set(job.findings.map((each) => findings[each].code))];
    const severities = job.findings.map((each) => SEVERITIES.indexOf(findings[each].severity));
    job.worst = job.state === "not compiled" ? 0 : Math.min(3, ...severities); // the error may be in another file
    job.findings.forEach((each) => holders[each].push(job));
    job.images.forEach((each) => users[each].push(job));
  });
  const environments = new Set(jobs.map((job) => job.environment)).size;
  const facets = FACETS.filter(({ key }) =>
    key === "environment"
      ? environments > 1
      : key === "queue"
        ? jobs.some((job) => job.queue)
        : key !== "code" || findings.length,
  );

  const state = {
    tab: "jobs",
    query: "",
    show: "all",
    measure: jobs.some((job) => job.gpus) ? "gpus" : "pods",
    page: 0,
    chosen: Object.fromEntries(FACETS.map(({ key }) => [key, new Set()])),
    sort: {
      jobs: [jobs.some((job) => job.worst === 0) ? "findings" : "name", 1],
      findings: ["severity", 1],
      images: ["name", 1],
    },
    open: new Set(),
    all: new Set(),
  };

  // Texts to search in, made at the first search.
  const texts = new Map();
  const textOf = (item, parts) => {
    if (!texts.has(item)) texts.set(item, parts().join("\n").toLowerCase());
    return texts.get(item);
  };
  const words = () => state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (item, parts, wanted) => wanted.every((word) => textOf(item, parts).includes(word));
  const jobParts = (job) => () => [
    `${job.namespace}/${job.name}`,
    job.runtime,
    job.queue,
    job.priority,
    job.environment,
    job.file,
    job.state,
    ...job.codes,
    ...job.images.map((each) => `${images[each].name}@${images[each].digest}`),
    ...job.objects,
  ];
  const accepts = (job, except) =>
    facets.every(
      ({ key, of }) =>
        key === except || !state.chosen[key].size || of(job).some((value) => state.chosen[key].has(value)),
    );
  const isFiltered = () => state.show !== "all" || facets.some(({ key }) => state.chosen[key].size);
  const inState = (job) => STATES[state.show][1](job);

  const select = () => {
    const wanted = words();
    const searched = jobs.filter((job) => inState(job) && (!wanted.length || matches(job, jobParts(job), wanted)));
    const chosen = searched.filter((job) => accepts(job));
    const filtered = isFiltered();
    const kept = filtered ? new Set(jobs.filter((job) => inState(job) && accepts(job))) : null;
    return {
      searched,
      jobs: chosen,
      findings: findings
        .map((finding, index) => ({ ...finding, index, jobs: holders[index] }))
        .filter(
          (finding) =>
            (!kept || finding.jobs.some((job) => kept.has(job))) &&
            matches(
              findings[finding.index],
              () => [finding.code, codes[finding.code], finding.file, finding.message, finding.severity],
              wanted,
            ),
        ),
      images: images
        .map((image, index) => ({
          ...image,
          index,
          jobs: kept ? users[index].filter((job) => kept.has(job)) : users[index],
        }))
        .filter(
          (image) =>
            image.jobs.length && matches(images[image.index], () => [image.name, image.digest || "not pinned"], wanted),
        ),
    };
  };

  const tag = (text, kind = "") => make("span", { class: `tag ${kind}`, text });
  const count = (value) => make("span", { class: value ? null : "zero", text: number.format(value) });
  const severityTag = (severity) => tag(severity, severity === "note" ? "" : severity);
  const summary = (job) =>
    SEVERITIES.map((severity) => {
      const found = job.findings.filter((each) => findings[each].severity === severity).length;
      return found ? tag(plural(found, severity), severity === "note" ? "" : severity) : null;
    });

  const COLUMNS = {
    jobs: [
      {
        key: "name",
        title: "Job",
        class: "name",
        value: (job) => job.index,
        cell: (job) =>
          make("button", {
            text: `${job.namespace}/${job.name}`,
            "aria-expanded": String(state.open.has(job.index)),
            "data-job": job.index,
            on: () => {
              state.open.delete(job.index) || state.open.add(job.index);
              draw(`[data-job="${job.index}"]`);
            },
          }),
      },
      environments > 1 && { key: "environment", title: "Environment", class: "wide", value: (job) => job.environment },
      { key: "runtime", title: "Runtime", class: "wide", value: (job) => job.runtime },
      jobs.some((job) => job.queue) && { key: "queue", title: "Queue", class: "wide", value: (job) => job.queue },
      { key: "pods", title: "Pods", class: "number", value: (job) => job.pods, cell: (job) => count(job.pods) },
      { key: "gpus", title: "GPUs", class: "number", value: (job) => job.gpus, cell: (job) => count(job.gpus) },
      {
        key: "findings",
        title: "Findings",
        value: (job) => job.worst * 1e6 - job.findings.length,
        cell: (job) =>
          make(
            "span",
            {},
            job.state === "ready" ? null : tag(job.state, job.state === "suspended" ? "" : "error"),
            ...summary(job),
          ),
      },
    ].filter(Boolean),
    findings: [
      {
        key: "severity",
        title: "Severity",
        value: (finding) => SEVERITIES.indexOf(finding.severity),
        cell: (finding) => severityTag(finding.severity),
      },
      {
        key: "code",
        title: "Code",
        value: (finding) => finding.code,
        cell: (finding) => make("span", { class: "mono code", text: finding.code, title: codes[finding.code] }),
      },
      {
        key: "message",
        title: "Message",
        class: "text",
        value: (finding) => finding.message,
        cell: (finding) =>
          make(
            "div",
            {},
            finding.message,
            finding.hint ? make("div", { class: "soft", text: `Hint: ${finding.hint}` }) : null,
          ),
      },
      {
        key: "file",
        title: "File",
        class: "mono",
        value: (finding) => finding.file,
        cell: (finding) => `${finding.file}:${finding.line}`,
      },
      {
        key: "jobs",
        title: "Jobs",
        class: "number",
        value: (finding) => finding.jobs.length,
        cell: (finding) => count(finding.jobs.length),
      },
    ],
    images: [
      {
        key: "name",
        title: "Image",
        class: "mono",
        value: (image) => image.name,
        cell: (image) =>
          make("button", {
            class: "mono",
            text: image.name,
            title: "Show the jobs with this image",
            on: () => {
              state.tab = "jobs";
              search(image.name);
            },
          }),
      },
      {
        key: "digest",
        title: "Digest",
        class: "mono",
        value: (image) => image.digest || "",
        cell: (image) =>
          image.digest
            ? make("span", { text: image.digest.slice(0, 19), title: image.digest })
            : tag("not pinned", "warning"),
      },
      {
        key: "jobs",
        title: "Jobs",
        class: "number",
        value: (image) => image.jobs.length,
        cell: (image) => count(image.jobs.length),
      },
      {
        key: "pods",
        title: "Pods of these jobs",
        class: "number",
        value: (image) => image.jobs.reduce((sum, job) => sum + job.pods, 0),
        cell: (image) => count(image.jobs.reduce((sum, job) => sum + job.pods, 0)),
      },
    ],
  };
  const TITLES = { jobs: "Jobs", findings: "Findings", images: "Images" };

  // The picture of a job: replicated jobs from left to right, each behind those that it waits for.
  const picture = (parts) => {
    const WIDTH = 196,
      HEIGHT = 52,
      GAP_X = 104,
      GAP_Y = 16;
    const byName = new Map(parts.map((part) => [part.name, part]));
    const depths = new Map();
    for (const part of parts)
      // what a part waits for comes before it in the list
      depths.set(
        part.name,
        Math.max(0, ...part.waits.filter((wait) => depths.has(wait.for)).map((wait) => depths.get(wait.for) + 1)),
      );
    const rows = [];
    const places = new Map(
      parts.map((part) => {
        const depth = depths.get(part.name);
        rows[depth] = (rows[depth] || 0) + 1;
        return [part.name, { x: 1 + depth * (WIDTH + GAP_X), y: 1 + (rows[depth] - 1) * (HEIGHT + GAP_Y) }];
      }),
    );
    const most = Math.max(...rows);
    for (const place of places.values())
      // columns are centred
      place.y += ((most - rows[Math.round((place.x - 1) / (WIDTH + GAP_X))]) * (HEIGHT + GAP_Y)) / 2;
    const width = rows.length * (WIDTH + GAP_X) - GAP_X + 2;
    const height = most * (HEIGHT + GAP_Y) - GAP_Y + 2;
    const label = parts
      .map(
        (part) =>
          `${part.name}, ${plural(part.pods, "pod")}${part.gpus ? `, ${plural(part.gpus, "GPU")}` : ""}` +
          part.waits.map((wait) => `, waits until ${wait.for} is ${wait.until.toLowerCase()}`).join(""),
      )
      .join("; ");
    const marker = make(
      "svg:marker",
      { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" },
      make("svg:path", { d: "M0 0.5 L8 4 L0 7.5 z" }),
    );
    const svg = make(
      "svg:svg",
      { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
      make("svg:defs", {}, marker),
    );
    for (const part of parts) {
      const to = places.get(part.name);
      for (const wait of part.waits.filter((each) => byName.has(each.for))) {
        const from = places.get(wait.for);
        const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x - 2, to.y + HEIGHT / 2];
        svg.append(
          make("svg:path", {
            d: `M${x1} ${y1} C${x1 + 40} ${y1} ${x2 - 40} ${y2} ${x2} ${y2}`,
            "marker-end": "url(#arrow)",
          }),
          make("svg:text", { class: "small", x: x1 + 6, y: y2 < y1 ? y1 + 16 : y1 - 6, text: wait.until }),
        );
      }
    }
    for (const part of parts) {
      const { x, y } = places.get(part.name);
      const name = part.name.length > 24 ? `${part.name.slice(0, 23)}…` : part.name;
      svg.append(
        make(
          "svg:g",
          { class: part.gpus ? "trains" : null },
          make("svg:title", { text: part.name }),
          make("svg:rect", { x, y, width: WIDTH, height: HEIGHT, rx: 8 }),
          make("svg:text", { x: x + 12, y: y + 22, text: name }),
          make("svg:text", {
            class: "small",
            x: x + 12,
            y: y + 40,
            text: plural(part.pods, "pod") + (part.gpus ? ` · ${plural(part.gpus, "GPU")}` : ""),
          }),
        ),
      );
    }
    return make("div", { class: "graph", tabindex: 0, role: "group", "aria-label": "Replicated jobs" }, svg);
  };

  const detail = (job) => {
    const parts = graphs[job.graph];
    const found = job.findings.map((each) => findings[each]);
    return make(
      "div",
      {},
      parts.length ? make("h3", { text: "Replicated jobs" }) : null,
      parts.length ? picture(parts) : null,
      make(
        "div",
        { class: "columns" },
        make(
          "div",
          {},
          make("h3", { text: "Findings" }),
          found.length
            ? make(
                "ul",
                {},
                ...found.map((finding) =>
                  make(
                    "li",
                    {},
                    severityTag(finding.severity),
                    " ",
                    make("span", { class: "mono", text: finding.code }),
                    ` ${finding.message}`,
                    finding.hint ? make("div", { class: "soft", text: `Hint: ${finding.hint}` }) : null,
                    make("div", { class: "mono soft", text: `${finding.file}:${finding.line}` }),
                  ),
                ),
              )
            : make("p", { class: "soft", text: "None in the files of the job and its runtime." }),
        ),
        make(
          "div",
          {},
          make("h3", { text: "Images" }),
          job.images.length
            ? make(
                "ul",
                {},
                ...job.images.map((each) =>
                  make(
                    "li",
                    { class: "mono" },
                    images[each].name,
                    " ",
                    images[each].digest
                      ? make("span", {
                          class: "soft",
                          text: images[each].digest.slice(0, 19),
                          title: images[each].digest,
                        })
                      : tag("not pinned", "warning"),
                  ),
                ),
              )
            : make("p", { class: "soft", text: "None." }),
        ),
        make(
          "div",
          {},
          make("h3", { text: "Source and objects" }),
          make(
            "ul",
            { class: "mono" },
            make("li", { text: job.file }),
            ...job.objects.map((name) => make("li", { class: "soft", text: name })),
          ),
        ),
      ),
    );
  };

  const drawCards = (searched) => {
    byId("measure").replaceChildren(
      ...Object.entries(MEASURES).map(([key, title]) =>
        make("button", {
          text: title,
          "aria-pressed": String(state.measure === key),
          "data-measure": key,
          on: () => {
            state.measure = key;
            draw(`[data-measure="${key}"]`);
          },
        }),
      ),
    );
    byId("cards").replaceChildren(
      ...facets.map((facet) => {
        const sums = new Map();
        for (const job of searched)
          if (accepts(job, facet.key))
            for (const value of facet.of(job))
              sums.set(
                value,
                (sums.get(value) || 0) + (facet.key === "code" || state.measure === "jobs" ? 1 : job[state.measure]),
              );
        for (const value of state.chosen[facet.key]) if (!sums.has(value)) sums.set(value, 0);
        const rows = [...sums].sort((one, other) => other[1] - one[1] || order(one[0], other[0]));
        const most = Math.max(1, ...rows.map((row) => row[1]));
        const whole = state.all.has(facet.key);
        const shown = whole ? rows : rows.filter((row, index) => index < SHOWN || state.chosen[facet.key].has(row[0]));
        const unit = facet.key === "code" ? "jobs" : MEASURES[state.measure];
        return make(
          "section",
          { class: "card", "aria-label": facet.title },
          make("h3", { text: facet.title }, make("span", { text: facet.key === "code" ? "jobs" : unit })),
          rows.length
            ? make(
                "ul",
                {},
                ...shown.map(([value, sum]) => {
                  const text = (facet.label ? facet.label(value) : value) || facet.none || "none";
                  const button = make(
                    "button",
                    {
                      "aria-pressed": String(state.chosen[facet.key].has(value)),
                      title: text,
                      "data-facet": facet.key,
                      "data-value": value,
                      on: () => choose(facet.key, value),
                    },
                    make("span", { text }),
                    make("span", { text: number.format(sum) }),
                  );
                  button.style.setProperty("--part", `${(100 * sum) / most}%`);
                  return make("li", {}, button);
                }),
              )
            : make("p", { class: "soft empty", text: "None" }),
          rows.length > SHOWN
            ? make("button", {
                class: "all",
                text: whole ? "Show fewer" : `Show all ${number.format(rows.length)}`,
                "data-all": facet.key,
                "aria-expanded": String(whole),
                on: () => {
                  state.all.delete(facet.key) || state.all.add(facet.key);
                  draw(`[data-all="${facet.key}"]`);
                },
              })
            : null,
        );
      }),
    );
  };

  const drawTabs = (found) =>
    byId("tabs").replaceChildren(
      ...Object.entries(TITLES).map(([key, title]) =>
        make(
          "button",
          {
            role: "tab",
            id: `tab-${key}`,
            "aria-selected": String(state.tab === key),
            "aria-controls": "panel",
            tabindex: state.tab === key ? 0 : -1,
            on: () => {
              state.tab = key;
              state.page = 0;
              draw(`#tab-${key}`);
            },
          },
          title,
          make("span", { text: number.format(found[key].length) }),
        ),
      ),
    );

  const drawChips = () => {
    const chips = facets.flatMap(({ key, none, label }) =>
      [...state.chosen[key]].map((value) =>
        make("button", {
          text: `${(label ? label(value) : value) || none} ✕`,
          "aria-label": `Remove filter ${value || none}`,
          on: () => choose(key, value),
        }),
      ),
    );
    if (chips.length || state.query || state.show !== "all")
      chips.push(
        make("button", {
          class: "reset",
          text: "Reset",
          on: () => {
            for (const { key } of FACETS) state.chosen[key].clear();
            state.show = byId("state").value = "all";
            search("");
            byId("query").focus();
          },
        }),
      );
    byId("chips").replaceChildren(...chips);
  };

  const drawTable = (rows) => {
    const columns = COLUMNS[state.tab];
    const [key, direction] = state.sort[state.tab];
    const { value } = columns.find((column) => column.key === key);
    const keyed = rows.map((row) => [value(row), row]); // in order of name, which equal values keep
    const compare = typeof (keyed[0] || [""])[0] === "number" ? (one, other) => one - other : order;
    keyed.sort((one, other) => direction * compare(one[0], other[0]));
    const last = Math.max(0, Math.ceil(rows.length / PAGE) - 1);
    state.page = Math.min(state.page, last);
    const first = state.page * PAGE;
    const body = keyed.slice(first, first + PAGE).flatMap(([, row]) => {
      const cells = columns.map((column) =>
        make("td", { class: column.class || null }, column.cell ? column.cell(row) : String(column.value(row))),
      );
      const isOpen = state.tab === "jobs" && state.open.has(row.index);
      return [
        make("tr", { class: "row" }, ...cells),
        ...(isOpen ? [make("tr", { class: "detail" }, make("td", { colspan: columns.length }, detail(row)))] : []),
      ];
    });
    const head = columns.map((column) =>
      make(
        "th",
        {
          scope: "col",
          class: ["number", "wide"].includes(column.class) ? column.class : null,
          "aria-sort": column.key === key ? (direction > 0 ? "ascending" : "descending") : null,
        },
        make("button", {
          text: column.title,
          "data-sort": column.key,
          on: () => {
            const falls = column.class === "number" ? -1 : 1;
            state.sort[state.tab] = [column.key, column.key === key ? -direction : falls];
            state.page = 0;
            draw(`[data-sort="${column.key}"]`);
          },
        }),
      ),
    );
    const panel = byId("panel");
    panel.setAttribute("aria-labelledby", `tab-${state.tab}`);
    panel.replaceChildren(
      rows.length
        ? make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body))
        : make("p", { class: "empty", text: data[state.tab].length ? "Nothing matches." : `No ${state.tab}.` }),
    );
    const turn = (text, step, isLast) => {
      const button = make("button", {
        text,
        "data-turn": step,
        on: () => {
          state.page += step;
          draw(`[data-turn="${step}"]`);
          byId("results").scrollIntoView();
        },
      });
      button.disabled = isLast;
      return button;
    };
    const end = Math.min(first + PAGE, rows.length);
    const whole = plural(rows.length, state.tab.slice(0, -1));
    byId("count").textContent =
      rows.length > PAGE
        ? `${number.format(first + 1)} to ${number.format(end)} of ${whole}`
        : rows.length
          ? whole
          : "";
    byId("pages").replaceChildren(
      ...(last ? [turn("Previous", -1, state.page === 0), turn("Next", 1, state.page === last)] : []),
    );
  };

  // Draws all again, and puts the focus on what has replaced the element that had it.
  const draw = (focus) => {
    const found = select();
    drawCards(found.searched);
    drawTabs(found);
    drawChips();
    drawTable(found[state.tab]);
    if (focus) document.querySelector(focus)?.focus();
  };
  const choose = (key, value) => {
    state.chosen[key].delete(value) || state.chosen[key].add(value);
    state.page = 0;
    draw();
    [...document.querySelectorAll(`[data-facet="${key}"]`)].find((button) => button.dataset.value === value)?.focus();
  };
  const search = (text) => {
    state.query = byId("query").value = text;
    state.page = 0;
    draw();
  };

  byId("state").append(...Object.entries(STATES).map(([value, [text]]) => make("option", { value, text })));
  byId("state").addEventListener("change", (event) => {
    state.show = event.target.value;
    state.page = 0;
    draw();
  });
  byId("query").addEventListener("input", (event) => {
    state.query = event.target.value;
    state.page = 0;
    draw();
  });
  byId("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const keys = Object.keys(TITLES);
    state.tab = keys[(keys.indexOf(state.tab) + step + keys.length) % keys.length];
    state.page = 0;
    draw(`#tab-${state.tab}`);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      byId("query").focus();
    } else if (event.key === "Escape" && event.target === byId("query")) search("");
  });
  draw();
})();
