import { ToolgateError } from "../../domain/core/errors.ts";
import type { Quotes } from "../../domain/payments/quote.ts";
import { parseRecord, type SearchedRecord } from "../operations/story.ts";

/** A record of an account. */
export interface OwnRecord {
  readonly kind: "run" | "receipt" | "deposit" | "key" | "request";
  readonly id: string;
  /** Tool of the call, or name of the key; empty for a deposit. */
  readonly title: string;
  readonly createdAt: Date;
}

/** Reads records of one account only. */
export interface OwnRecordQueries {
  /** At most 20. */
  find(accountId: string, record: SearchedRecord): Promise<OwnRecord[]>;
}

/** Finds the records of an account by their identifiers. */
export class OwnRecords {
  readonly #queries: OwnRecordQueries;
  readonly #quotes: Pick<Quotes, "open">;

  constructor(queries: OwnRecordQueries, quotes: Pick<Quotes, "open">) {
    this.#queries = queries;
    this.#quotes = quotes;
  }

  /** Returns the records that the text names or that belong to it; none for text of another kind. */
  async find(accountId: string, text: string): Promise<OwnRecord[]> {
    let record: SearchedRecord;
    try {
      record = parseRecord(text.trim(), this.#quotes);
    } catch (error) {
      if (error instanceof ToolgateError) return [];
      throw error;
    }
    return this.#queries.find(accountId, record);
  }
}
