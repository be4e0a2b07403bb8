export default () => <h1>approvals</h1>
