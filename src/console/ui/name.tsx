/** A name that a user chose, on one line. A long one is cut for the eye; the tooltip shows it whole. */
export function Name({ name }: { name: string }) {
  return (
    <span className="name" title={name}>
      {name}
    </span>
  );
}
