/** One page of a list, newest first. */
export interface Page<Item> {
  items: Item[];
  nextCursor: string | undefined;
}
