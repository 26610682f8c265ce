"""Questions to a store: the catalogue of queries, ad-hoc SQL, and times as people type them."""
