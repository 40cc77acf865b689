// The slowest calls of a run, over which the functions of it can be gone through: a view of a workspace's own.
// Copy it into .clew/views/ and reload the panel (`clew view --trust`, or the editor's).

const STATEMENT = `
  select calls.enter as event, qualname, locations.file, locations.line, total_ns, self_ns, waiting_ns, processes.name as process
  from calls
  join events on calls.enter = events.id
  join locations using (location)
  join strands on events.strand = strands.index
  join processes on strands.process = processes.index
  where total_ns is not null and module || ':' || qualname like ?
  order by total_ns desc limit 50`;

export default {
  name: "slowest",
  title: "Slowest calls",
  hint: "The calls that took longest, one by one",
  start: { like: "" },
  describe: ({ like }) => like || "of all functions",

  make(clew) {
    let rows = [];

    const bar = (row, longest) => {
      const width = (ns) => `${Math.max(0.5, (100 * ns) / longest)}%`;
      return clew.html`<svg aria-hidden="true">
        ${clew.svg`<rect class="wait" width=${width(row.total_ns)} height="100%" rx="2" />`}
        ${clew.svg`<rect class="self" width=${width(row.total_ns - row.waiting_ns)} height="100%" rx="2" />`}
      </svg>`;
    };

    const shown = () => rows.filter((row) => row.qualname.toLowerCase().includes(clew.search.toLowerCase()));

    return {
      async open({ like }) {
        rows = await clew.sql(STATEMENT, [`%${like}%`]);
        clew.redraw();
      },

      found: () => ({ matches: shown().length, all: rows.length }),

      draw() {
        const longest = rows[0]?.total_ns ?? 1;
        return clew.html`
          <section class="summary pad">
            <label>
              Only functions with
              <input
                type="search"
                aria-label="Only functions with this in their name"
                .value=${clew.question.like}
                @change=${(event) => clew.ask({ ...clew.question, like: event.target.value })}
              />
            </label>
          </section>
          <table class="diff-rows">
            <thead>
              <tr>
                <th scope="col">Call</th>
                <th scope="col">Process</th>
                <th scope="col" title="The darker part is work, the rest waiting">Time</th>
              </tr>
            </thead>
            <tbody>
              ${shown().map(
                (row) => clew.html`<tr>
                  <th scope="row">
                    <button type="button" class="link" @click=${() => clew.go("slice", { run: clew.run, target: { event: row.event } })}>
                      ${row.qualname}
                    </button>
                    <button type="button" class="link place" @click=${() => clew.reveal({ path: row.file, line: row.line })}>
                      ${clew.place({ path: row.file, line: row.line })}
                    </button>
                  </th>
                  <td>${row.process}</td>
                  <td><span class="bar-line">${bar(row, longest)}<span>${clew.duration(row.total_ns)}</span></span></td>
                </tr>`,
              )}
            </tbody>
          </table>
          ${shown().length === 0 ? clew.html`<p class="muted pad">No call is of a function that is called that.</p>` : clew.nothing}
        `;
      },
    };
  },
};
