import { Link } from "wouter";
import { Copyable, Name } from "../ui/index.ts";

/** The key of a call: its name, and its id to copy. */
export function KeyName({ keyId, name }: { keyId: string; name: string }) {
  if (keyId === "") return "not recorded";
  return (
    <span className="row">
      {name !== "" && (
        <Link href="/keys">
          <Name name={name} />
        </Link>
      )}
      <Copyable text={keyId} label="key id" short />
    </span>
  );
}
