
(() => {
  const size = layout => document.querySelectorAll('.plotly-graph-div').forEach(chart => Plotly.relayout(chart, layout));
  addEventListener('beforeprint', () => size({width: 660}));
  addEventListener('afterprint', () => size({width: null, autosize: true}));
})();
