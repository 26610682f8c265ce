"""Writers of documents: text for a terminal, Markdown, HTML, messages of chats, and mail."""
