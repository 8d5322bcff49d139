export { ContentMark } from './content-mark.ts';
export { appendParts } from './parts.ts';
export { taskBefore, TaskFold } from './task-fold.ts';
