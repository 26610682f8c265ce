// Keys, forms that send themselves, kept questions, and the page that comes again while logs grow.
(() => {
  'use strict';
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];
  const form = document.querySelector('form.fields');

  // An address names only what differs from nothing, so that it can be read.
  form?.addEventListener('submit', () => all('input, select, textarea', form).forEach(item => { item.disabled = !item.value; }));
  addEventListener('pageshow', () => { if (form) all('[name]', form).forEach(item => { item.disabled = false; }); });
  all('select', form ?? document).forEach(item => item.addEventListener('change', () => item.form?.requestSubmit()));

  // The last statements of this browser, a click away.
  const area = form?.querySelector('textarea[name="sql"]'), kept = 'analyzer-sql';
  if (area) {
    let last = [];
    try { last = JSON.parse(localStorage.getItem(kept)) || []; } catch { /* a browser that keeps nothing */ }
    if (area.value.trim()) last = [area.value, ...last.filter(text => text !== area.value)].slice(0, 10);
    try { localStorage.setItem(kept, JSON.stringify(last)); } catch { /* as above */ }
    if (last.length) {
      const choice = document.createElement('select');
      choice.setAttribute('aria-label', 'Last statements');
      choice.add(new Option('last statements', ''));
      last.forEach(text => choice.add(new Option(text.replace(/\s+/g, ' ').slice(0, 90), text)));
      choice.addEventListener('change', () => { if (choice.value) area.value = choice.value; area.focus(); });
      area.after(choice);
    }
    area.addEventListener('keydown', event => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit(); });
  }

  // A phone shows the answer first.
  const folding = document.querySelector('.folding');
  if (folding && !area && innerWidth < 640) folding.open = false;

  const keys = document.getElementById('keys');
  const links = () => all('main tbody tr td:first-child a, main tbody tr td:nth-child(2) a');
  const step = by => {
    const rows = links();
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement);
    rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)].focus();
  };
  const actions = {
    '/': () => { if (folding) folding.open = true; (form?.querySelector('input[type="search"], textarea, input'))?.focus(); },
    j: () => step(1),
    k: () => step(-1),
    '?': () => keys.showModal(),
  };
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select, dialog')) return;
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  });

  // A chart that the mouse reaches is drawn again by plotly, to be looked at closely: drag zooms, two clicks lead back.
  const script = () => new Promise((loaded, failed) => {
    if (window.Plotly) { loaded(); return; }
    const element = Object.assign(document.createElement('script'), {src: '/plotly.js', onload: loaded, onerror: failed});
    document.head.append(element);
  });
  all('figure').forEach(figure => {
    const data = figure.querySelector('script[type="application/json"]'), chart = figure.querySelector('.chart');
    if (data) chart.addEventListener('pointerenter', async () => {
      await script();
      const {data: traces, layout} = JSON.parse(data.textContent), place = document.createElement('div');
      place.className = 'plotly-graph-div';
      place.style.height = `${layout.height}px`;
      chart.replaceChildren(place);
      Plotly.newPlot(place, traces, layout, {displayModeBar: false, responsive: true, doubleClick: 'reset'});
    }, {once: true});
  });

  // The document of a live page comes whole. What is read, marked or has the focus stays where it is.
  if (document.body.dataset.live) {
    const sign = document.querySelector('.alive');
    const source = new EventSource(document.body.dataset.live);
    source.addEventListener('open', () => { sign.hidden = false; });
    source.addEventListener('error', () => { sign.hidden = true; });
    let waiting = null;
    const place = () => {
      if (waiting === null || !getSelection().isCollapsed) return;
      const before = document.querySelector('main'), part = document.createElement('template');
      part.innerHTML = waiting;
      waiting = null;
      const scrolled = all('.scroll', before).map(item => [item.scrollTop, item.scrollLeft]);
      const focused = document.activeElement?.getAttribute('href');
      const anchor = all('h2', before).find(item => item.getBoundingClientRect().bottom > 0);
      const top = anchor?.getBoundingClientRect().top;
      before.replaceWith(part.content.querySelector('main'));
      all('main .scroll').forEach((item, number) => item.scrollTo(...(scrolled[number] ?? [0, 0]).reverse()));
      const same = anchor && all('main h2').find(item => item.textContent === anchor.textContent);
      if (same && scrollY > 0) scrollBy({top: same.getBoundingClientRect().top - top, behavior: 'instant'});
      if (focused) all('main a').find(item => item.getAttribute('href') === focused)?.focus({preventScroll: true});
    };
    source.addEventListener('message', event => { waiting = JSON.parse(event.data); place(); });
    document.addEventListener('selectionchange', place);
    addEventListener('pagehide', () => source.close());
    addEventListener('pageshow', event => { if (event.persisted) location.reload(); });
  }
})();
