import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** The distance from the end, in pixels, that counts as at the end. */
const nearEnd = 40;

export interface Following {
  /** The scrolling element. */
  readonly box: RefObject<HTMLDivElement | null>;
  /** The growing content in it. */
  readonly content: RefObject<HTMLDivElement | null>;
  /** Whether content was added below the visible part. */
  readonly hasNew: boolean;
  readonly toEnd: () => void;
  readonly onScroll: () => void;
}

/**
 * Keeps the end of a conversation visible. In the state **following**, it scrolls to the end whenever the
 * content grows. When the user scrolls up, it changes to **paused**: it doesn't scroll, and `hasNew`
 * shows that content was added. It follows again when the user scrolls to the end or sends a message.
 *
 * Only scrolling up pauses it. Scroll events arrive a frame late, when the content can have grown again:
 * the end being out of view does not mean that the user scrolled.
 *
 * @param version increases with every change of the content
 * @param sent the number of messages sent
 */
export function useFollowing(version: number, sent: number): Following {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const lastTop = useRef(0);
  const [hasNew, setNew] = useState(false);

  const stay = (): void => {
    const element = box.current;
    if (element === null || !follows.current) return;
    element.scrollTop = element.scrollHeight;
    lastTop.current = element.scrollTop;
  };
  const toEnd = (): void => {
    follows.current = true;
    setNew(false);
    stay();
  };

  useLayoutEffect(() => {
    const observer = new ResizeObserver(stay);
    for (const element of [box.current, content.current]) {
      if (element !== null) observer.observe(element);
    }
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(toEnd, [sent]);

  useEffect(() => {
    if (!follows.current) setNew(true);
  }, [version]);

  const onScroll = (): void => {
    const element = box.current;
    if (element === null) return;
    const { scrollTop, clientHeight, scrollHeight } = element;
    const isAtEnd = scrollTop + clientHeight >= scrollHeight - nearEnd;
    if (isAtEnd) {
      follows.current = true;
      setNew(false);
    } else if (scrollTop < lastTop.current) {
      follows.current = false;
    }
    lastTop.current = scrollTop;
  };

  return { box, content, hasNew, toEnd, onScroll };
}
