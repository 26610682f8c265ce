"""Ask a store: the catalogue of queries, ad-hoc SQL, selections and times as people type them."""
