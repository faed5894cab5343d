"""A site's own data: readers for folders of images, tables and arrays."""
