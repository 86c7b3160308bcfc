/** The product name with its logo. */
export function Brand() {
  return (
    <span className="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
        <rect width="32" height="32" rx="8" />
        <path d="M8 23V13a8 8 0 0 1 16 0v10M16 23V12" />
      </svg>
      Toolgate
    </span>
  );
}
