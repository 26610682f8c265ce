(() => {
  const root = document.documentElement, opened = performance.getEntriesByType('navigation')[0]?.type === 'navigate';
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const made = (tag, properties = {}, ...children) => { const element = Object.assign(document.createElement(tag), properties); element.append(...children); return element; };

  // The texts of cells, without the button beside a command and the gist above a folded text.
  const cache = new WeakMap();
  const textOf = cell => {
    const command = cell.querySelector('code.command'), fold = cell.querySelector('summary');
    if (command) return command.textContent;
    return (fold ? fold.parentElement.textContent.slice(fold.textContent.length) : cell.textContent).trim();
  };
  const texts = row => { if (!cache.has(row)) cache.set(row, [...row.cells].map(textOf)); return cache.get(row); };

  // Copying, for commands and tables.
  const copy = async text => {
    try { await navigator.clipboard.writeText(text); return true; } catch {
      const area = made('textarea', {value: text, className: 'off'}), focused = document.activeElement;
      document.body.append(area); area.select();
      const done = document.execCommand('copy');
      area.remove(); focused?.focus({preventScroll: true});
      return done;
    }
  };
  const button = (label, act, about) => {
    const tool = made('button', {type: 'button', className: 'tool', textContent: label});
    if (about) tool.setAttribute('aria-label', about);
    tool.addEventListener('click', async () => { tool.textContent = await act() ? 'Done' : 'Not copied'; setTimeout(() => { tool.textContent = label; }, 1500); });
    return tool;
  };
  // A line may end between the words of a command, not at the hyphens of an option.
  all('code').forEach(code => code.replaceChildren(...code.textContent.split(/( )/).map(text => text.length > 40 ? text : made('span', {className: 'word', textContent: text}))));
  all('code.command').forEach(code => code.after(button('Copy', () => copy(code.textContent), `Copy: ${code.textContent}`)));

  // Moments of sentences are in the reader's zone, and in UTC under the pointer; tables name their zone.
  const local = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'short'});
  const relative = new Intl.RelativeTimeFormat(undefined, {numeric: 'auto'});
  all('time').filter(time => !time.closest('td')).forEach(time => {
    const [text, day, clock] = /^([\d-]+) ([\d:]+) UTC$/.exec(time.textContent) ?? [];
    if (!clock) return;
    const moment = new Date(`${day}T${clock}Z`), hours = Math.round((moment - Date.now()) / 3_600_000);
    time.title = `${text}, ${Math.abs(hours) < 48 ? relative.format(hours, 'hour') : relative.format(Math.round(hours / 24), 'day')}`;
    if (moment.getTimezoneOffset()) time.textContent = local.format(moment);
  });

  // Tables that sort, search, copy and give CSV.
  const numeral = text => /^-?[\d,]+(\.\d+)?(e[-+]?\d+)?%?$/.test(text) ? Number(text.replaceAll(/[,%]/g, '')) : null;
  const compared = (a, b) => { const [x, y] = [numeral(a), numeral(b)]; return x !== null && y !== null ? x - y : x !== null ? 1 : y !== null ? -1 : a.localeCompare(b); };
  const harmless = text => /^[\s"'`]*[=+\-@\t\r＝＋－＠−﹢﹣﹦﹫]/.test(text) && !/^[+-]?[\d,]+(\.\d+)?%?$/.test(text) ? `'${text}` : text;
  const quoted = text => `"${harmless(text).replaceAll('"', '""')}"`;
  const listed = (table, mark, form) => [all('thead th', table).map(th => th.dataset.column ?? th.textContent.trim()),
    ...all('tbody tr', table).filter(row => !row.hidden).map(texts)].map(row => row.map(form).join(mark)).join('\r\n');
  const shown = row => { row.hidden = Boolean(row.dataset.searched || row.dataset.filtered); };
  const names = ['project', 'caller', 'agent', 'reason'], chosen = {};
  let lost = [];
  const columnsOf = table => Object.fromEntries(all('thead th', table).map((head, place) => [head.dataset.column, place]));

  // Counters: how many rows are left, and the names of filters that a table has no column for. They are read aloud
  // during a search in their table; filters would read those of all tables.
  const counters = new Map();
  const recount = table => {
    const rows = [...table.tBodies[0].rows], left = rows.filter(row => !row.hidden).length;
    const columns = columnsOf(table), blind = table.closest('article') ? [] : names.filter(name => chosen[name] && columns[name] === undefined);
    const few = left < rows.length ? [`${left} of ${rows.length === 1 ? '1 row' : `${rows.length} rows`}`] : [];
    counters.get(table).textContent = [...few, ...blind.map(name => `of every ${name}`)].join(', ');
  };
  all('table.data').forEach(table => {
    const body = table.tBodies[0], rows = [...body.rows], heads = all('thead th', table);
    heads.forEach((head, place) => {
      const sort = made('button', {type: 'button', className: 'sort', textContent: head.textContent});
      head.replaceChildren(sort);
      sort.addEventListener('click', () => {
        const down = head.getAttribute('aria-sort') !== 'descending' && (head.classList.contains('number') || head.getAttribute('aria-sort') === 'ascending');
        heads.forEach(other => other.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        body.append(...[...rows].sort((a, b) => compared(texts(a)[place], texts(b)[place]) * (down ? -1 : 1)));
      });
    });
    const counter = made('span', {className: 'said'});
    counters.set(table, counter);
    if (rows.length < 2) { table.closest('.scroll').before(counter); return; }
    const title = table.closest('[aria-label]').getAttribute('aria-label');
    const search = made('input', {type: 'search', placeholder: 'Search', ariaLabel: `Search in ${title}`});
    search.addEventListener('input', () => {
      const wanted = search.value.toLowerCase();
      rows.forEach(row => { row.dataset.searched = wanted && !texts(row).some(text => text.toLowerCase().includes(wanted)) ? '1' : ''; shown(row); });
      recount(table);
    });
    search.addEventListener('focus', () => { counter.ariaLive = 'polite'; });
    search.addEventListener('blur', () => { counter.ariaLive = 'off'; });
    const csv = () => {
      const address = URL.createObjectURL(new Blob(['\ufeff', listed(table, ',', quoted)], {type: 'text/csv'}));
      made('a', {href: address, download: `${title.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.csv`}).click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
      return true;
    };
    const bar = made('div', {className: 'tools'}, counter, ...(rows.length > 5 ? [search] : []),
      button('Copy', () => copy(listed(table, '\t', text => harmless(text.replaceAll(/\s+/g, ' ')))), `Copy ${title}`), button('CSV', csv, `${title} as CSV`));
    table.closest('.scroll').before(bar);
  });

  // Filters hide rows and findings about other names; figures and charts stay those of all.
  const places = all('table.data').map(table => [table, columnsOf(table)]);
  const about = item => name => { try { return JSON.parse(item.dataset[name] ?? '[]'); } catch { return []; } };
  const findings = all('article.finding');
  const apply = () => {
    for (const [table, columns] of places) {
      for (const row of table.tBodies[0].rows) {
        row.dataset.filtered = names.some(name => chosen[name] && columns[name] !== undefined && texts(row)[columns[name]] !== chosen[name]) ? '1' : '';
        shown(row);
      }
      recount(table);
    }
    for (const item of findings) item.hidden = names.some(name => chosen[name] && !about(item)(name).includes(chosen[name]));
    const active = names.some(name => chosen[name]);
    const missed = lost.map(text => `Nothing here is of “${text}”. `).join('');
    count.textContent = missed + (active ? `${findings.filter(item => !item.hidden).length} of ${findings.length} findings; charts and figures stay those of all.` : '');
    clear.hidden = !active;
  };
  const values = name => [...new Set([...places.flatMap(([table, columns]) => columns[name] === undefined ? [] : [...table.tBodies[0].rows].map(row => texts(row)[columns[name]])),
    ...findings.flatMap(item => about(item)(name))])].filter(text => text && text !== '–').sort((a, b) => a.localeCompare(b));
  const count = made('span', {className: 'said', role: 'status'});
  const clear = made('button', {type: 'button', className: 'tool', textContent: 'Show all', hidden: true});
  const options = names.map(name => [name, values(name)]).filter(([, texts]) => texts.length > 1);
  const selects = Object.fromEntries(options.map(([name, texts]) => {
    const select = made('select', {ariaLabel: `Only one ${name}`}, new Option(`Every ${name}`, ''), ...texts.map(text => new Option(text.length > 40 ? `${text.slice(0, 39)}…` : text, text)));
    // A keyboard passes several options: all changes until the focus leaves are a single choice.
    let passing = false;
    select.addEventListener('focus', () => { passing = false; });
    select.addEventListener('change', () => { choose({...chosen, [name]: select.value}); write(passing ? 'replaceState' : 'pushState'); passing = true; });
    return [name, select];
  }));
  const choose = wanted => {
    for (const [name, select] of Object.entries(selects)) { select.value = wanted[name] ?? ''; select.selectedIndex = Math.max(select.selectedIndex, 0); chosen[name] = select.value; }
    lost = names.filter(name => wanted[name] && wanted[name] !== chosen[name]).map(name => wanted[name]);
    apply();
  };
  clear.addEventListener('click', () => { choose({}); write('pushState'); Object.values(selects)[0].focus(); });
  if (options.length) document.querySelector('nav.contents').append(made('div', {className: 'filters', role: 'group', ariaLabel: 'Filters'}, ...Object.values(selects), clear, count));

  // The address has the filters after the target of a link, as in #errors&caller=lint-hook, so that a view can be sent
  // and Back undoes the last choice.
  const anchor = () => location.hash.slice(1).split('&').find(part => !part.includes('=')) ?? '';
  const write = (how, at = '') => {
    const held = [at, new URLSearchParams(Object.entries(chosen).filter(([, value]) => value)).toString()].filter(Boolean).join('&');
    history[how](null, '', location.href.split('#')[0] + (held && `#${held}`));
  };
  const read = () => choose(Object.fromEntries(new URLSearchParams(location.hash.slice(1))));

  // The target of a link or of the keyboard stops below the bar, which is higher if its filters wrap.
  const bar = document.querySelector('nav.contents');
  const measure = () => root.style.setProperty('--bar', `${bar.offsetHeight}px`);
  measure(); new ResizeObserver(measure).observe(bar);

  // A link to a folded or filtered target shows it.
  const reveal = id => {
    const at = id && document.getElementById(id);
    if (!at) return;
    if (at.closest('[hidden]')) choose({});
    all('details.folded', at).slice(0, 1).forEach(item => { item.open = true; });
  };
  let followed = null;
  document.addEventListener('click', event => {
    const link = event.target.closest('a[href^="#"]');
    if (link) { followed = link.hash; reveal(followed.slice(1)); }
  });
  addEventListener('hashchange', () => {
    // A link of the page keeps the filters; Back and a typed address have their own.
    if (location.hash === followed) write('replaceState', anchor()); else read();
    followed = null;
    reveal(anchor());
  });
  if (location.hash) { read(); reveal(anchor()); }
  // A page that a link opens scrolls before its bar has its full height, and so scrolls again; a reloaded page stays.
  addEventListener('load', () => { if (opened) document.getElementById(anchor())?.scrollIntoView({behavior: 'instant'}); });

  // The contents mark the section on the screen: the last one that begins in the upper quarter, or the target of a link.
  const links = all('nav.contents a'), targets = links.map(link => document.getElementById(link.hash.slice(1)));
  const mark = () => {
    const tops = targets.map(target => target.getBoundingClientRect().top), led = links.findIndex(link => link.hash === `#${anchor()}`);
    const ended = scrollY + innerHeight >= root.scrollHeight - 2;
    const at = ended && scrollY > 0 ? (tops[led] >= 0 ? led : tops.length - 1) : tops.findLastIndex(top => top <= innerHeight / 4);
    links.forEach((link, number) => { number === Math.max(at, 0) ? link.setAttribute('aria-current', 'true') : link.removeAttribute('aria-current'); });
  };
  let due = 0;
  addEventListener('scroll', () => { due ||= requestAnimationFrame(() => { due = 0; mark(); }); }, {passive: true});
  addEventListener('load', mark);

  // Charts measure themselves again when they are unfolded.
  all('details').forEach(item => item.addEventListener('toggle', () => dispatchEvent(new Event('resize'))));
})();
