// SPDX-License-Identifier: GPL-2.0-only
/*
 * libelf_search.c: the search trees that a static libelf.a may lack
 *
 * That of elfutils 0.192 (Debian 13) calls functions which are in no library that is
 * installed (lib/eu-search.c there). A library that has them takes the place of these. One
 * thread uses libelf here, so that they need no lock.
 */
#include <search.h>
#include <stddef.h>

#define REPLACEABLE __attribute__((weak))

typedef int compare_fn(const void *, const void *);

struct search_tree {
	void *root;
};

void eu_search_tree_init(struct search_tree *tree);
void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *));
void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn *compare);
void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn *compare);

REPLACEABLE void eu_search_tree_init(struct search_tree *tree)
{
	tree->root = NULL;
}

REPLACEABLE void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *))
{
	tdestroy(tree->root, free_node);
}

REPLACEABLE void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tsearch(key, &tree->root, compare);
}

REPLACEABLE void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tdelete(key, &tree->root, compare);
}
