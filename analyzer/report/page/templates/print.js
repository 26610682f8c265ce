
(() => {
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);
  const size = layout => each('.plotly-graph-div', chart => Plotly.relayout(chart, layout));
  addEventListener('beforeprint', () => { each('details', item => { item.open = true; }); size({width: 660}); });
  addEventListener('afterprint', () => size({width: null, autosize: true}));
})();
