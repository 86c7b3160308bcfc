import type { Pool } from "pg";
import type { SignInChallenges } from "../../app/accounts/sign-in-challenges.ts";
import type { SignInInput } from "../../domain/accounts/sign-in.ts";
import { queryWithRetry } from "../database/retry.ts";

interface ChallengeRow {
  input: SignInInput;
}

/** Sign-in challenges on PostgreSQL. Only this service writes the rows. */
export class PostgresSignInChallenges implements SignInChallenges {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async add(input: SignInInput): Promise<void> {
    await queryWithRetry(this.#pool, {
      name: "sign-in-challenges-add",
      text: `insert into sign_in_challenge (nonce, input, created_at, expires_at) values ($1, $2, $3, $4)
             on conflict (nonce) do nothing`,
      values: [input.nonce, JSON.stringify(input), input.issuedAt, input.expirationTime],
    });
  }

  async find(nonce: string): Promise<SignInInput | undefined> {
    const [row] = await queryWithRetry<ChallengeRow>(this.#pool, {
      name: "sign-in-challenges-find",
      text: "select input from sign_in_challenge where nonce = $1",
      values: [nonce],
    });
    return row?.input;
  }

  /** Not retried after a lost response: the first try may have deleted the row. */
  async take(nonce: string): Promise<SignInInput | undefined> {
    const { rows } = await this.#pool.query<ChallengeRow>({
      name: "sign-in-challenges-take",
      text: "delete from sign_in_challenge where nonce = $1 returning input",
      values: [nonce],
    });
    return rows[0]?.input;
  }
}
