/** A placeholder while loading. `height` is per line, in pixels. */
export function Skeleton({ lines = 3, height = 16 }: { lines?: number; height?: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} style={{ height }} />
      ))}
    </div>
  );
}
