/** A deployment among several that share one address; names carry its number. */
export interface Cell {
  /** 1 to 65535; 0: the only deployment. */
  readonly number: number;
  /**
   * Whether another cell issued a name, which must then be refused; reports it. Names without a cell (0) are
   * from before a deployment became one.
   */
  isForeign(name: NameKind, named: number): boolean;
}

/** Names that carry a cell. */
export type NameKind =
  | "account"
  | "api_key"
  | "deposit"
  | "quote"
  | "receipt"
  | "run"
  | "session"
  | "sign_in";

/** @param report receives each foreign name */
export function cellOf(number: number, report: (name: NameKind, cell: number) => void = () => {}): Cell {
  return {
    number,
    isForeign(name, named) {
      if (named === 0 || named === number) return false;
      report(name, named);
      return true;
    },
  };
}

export const NO_CELL = cellOf(0);
