
(() => {
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);
  const size = layout => each('.plotly-graph-div', chart => Plotly.relayout(chart, layout));
  addEventListener('beforeprint', () => size({width: 660}));
  addEventListener('afterprint', () => size({width: null, autosize: true}));
})();
