import { Link } from "wouter";
import { Copyable, Name } from "../ui/index.ts";

/** The key of a call: its name, and its id to copy. The name of an own key links to Keys. */
export function KeyName({ keyId, name, own }: { keyId: string; name: string; own: boolean }) {
  if (keyId === "") return "not recorded";
  return (
    <span className="row">
      {name !== "" && !own && <Name name={name} />}
      {name !== "" && own && (
        <Link href="/keys">
          <Name name={name} />
        </Link>
      )}
      <Copyable text={keyId} label="key id" short />
    </span>
  );
}
