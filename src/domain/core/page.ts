/** One page of a list, newest first. */
export interface Page<Item> {
  items: Item[];
  nextCursor: string | undefined;
}

export interface PageRequest {
  /** 1..100 */
  limit: number;
  /** Of the page before; undefined: the first page. */
  cursor: string | undefined;
}
