/** Requests of applications that one browser may have open at once. */
const MAX_OPEN = 4;

/** Identifiers of interactions. */
const ID = /^[\w-]{20,64}$/;

/**
 * The cookie that binds requests of applications to the browser that opened them: otherwise a person could be
 * led to consent to one that another began. `__Host-` keeps other hosts of the domain from setting it.
 */
export class BrowserCookie {
  readonly #name: string;
  readonly #secure: boolean;

  constructor(issuer: string) {
    this.#secure = issuer.startsWith("https:");
    this.#name = `${this.#secure ? "__Host-" : ""}toolgate_connect`;
  }

  /** Whether this browser opened the interaction. */
  holds(cookie: string | undefined, interactionId: string): boolean {
    return this.#open(cookie).includes(interactionId);
  }

  /** Returns the Set-Cookie header of a browser that has opened one more. */
  withOpened(cookie: string | undefined, interactionId: string, maxAgeSeconds: number): string {
    const open = [interactionId, ...this.#open(cookie)].slice(0, MAX_OPEN);
    const attributes = `Path=/; HttpOnly; ${this.#secure ? "Secure; " : ""}SameSite=Lax`;
    return `${this.#name}=${open.join(".")}; Max-Age=${maxAgeSeconds}; ${attributes}`;
  }

  /** None when the cookie is repeated: another host may have set the other. */
  #open(cookie: string | undefined): string[] {
    const pairs = (cookie ?? "").split(";").map((pair) => pair.trim());
    const values = pairs.filter((pair) => pair.startsWith(`${this.#name}=`));
    const [value] = values;
    if (value === undefined || values.length > 1) return [];
    return value
      .slice(this.#name.length + 1, 400)
      .split(".")
      .filter((id) => ID.test(id))
      .slice(0, MAX_OPEN);
  }
}
